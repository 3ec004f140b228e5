// Notifications of the browser, once the person has allowed them: when something begins to wait for their approval.
import { html, useEffect, useState } from "../vendor/preact.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { waiting } from "../api/waiting.js";
import { go, to } from "../router.js";
import { withShortAddresses } from "../words.js";
import { Icon } from "./icons.js";

const NAME = "notifies";

/** The activities that were waiting when this page last looked; null before the first look. @type {Set<string> | null} */
let known = null;

function isAllowed() {
  return "Notification" in window && Notification.permission === "granted" && localStorage.getItem(NAME) === "on";
}

/** Tells of what began to wait since the last look, unless the person is looking at this page. */
export function useNotifications() {
  useEffect(() => void tellOfNew(), [waiting.value]);
}

async function tellOfNew() {
  if (!waiting.value) return;
  const mine = waiting.value.filter((activity) => activity.canApprove);
  const before = known;
  known = new Set(mine.map(({ id }) => id));
  const begun = before ? mine.filter(({ id }) => !before.has(id)) : [];
  if (!begun.length || !isAllowed() || document.hasFocus()) return;
  await describe(begun);
  for (const activity of begun) {
    const shown = new Notification("Waits for your approval", { body: withShortAddresses(headlineOf(activity)), tag: activity.id, icon: "icon.svg" });
    shown.onclick = () => {
      focus();
      go(to(["activities", activity.id]));
    };
  }
}

/** Turns them on, with the browser's own question, or off. */
export function NotifyButton() {
  const [isOn, setOn] = useState(isAllowed());
  if (!("Notification" in window) || Notification.permission === "denied") return null;
  const change = async () => {
    const isWanted = !isOn && (await Notification.requestPermission()) === "granted";
    localStorage.setItem(NAME, isWanted ? "on" : "off");
    setOn(isWanted);
  };
  return html`<button type="button" class="button" aria-pressed=${isOn} onClick=${change}><${Icon} name="bell" />${isOn ? "Notifications are on" : "Notify me"}</button>`;
}
