// What the person is told: notices in place, and messages that pass.
import { html, signal } from "../vendor/preact.js";
import { Icon } from "./icons.js";

/** @typedef {"bad" | "warn" | "good" | "info"} Kind */

/** @type {Record<Kind, import("./icons.js").IconName>} */
const ICONS = { bad: "cross", warn: "warn", good: "done", info: "info" };

/** @param {{kind?: Kind, children?: any}} properties */
export function Notice({ kind = "info", children }) {
  return html`<div class=${`notice ${kind}`} role=${kind === "bad" ? "alert" : undefined}>
    <${Icon} name=${ICONS[kind]} /><div>${children}</div>
  </div>`;
}

/** @type {import("../vendor/preact.js").Signal<{id: number, kind: Kind, text: string}[]>} */
const messages = signal([]);
let last = 0;

/** Shows a message for some seconds. @param {string} text @param {Kind} [kind] */
export function tell(text, kind = "good") {
  const id = ++last;
  messages.value = [...messages.value, { id, kind, text }];
  setTimeout(() => {
    messages.value = messages.value.filter((message) => message.id !== id);
  }, kind === "bad" ? 10_000 : 5000);
}

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${messages.value.map(({ id, kind, text }) => html`<div key=${id} class=${`notice ${kind === "bad" ? "bad" : ""}`}>
      <${Icon} name=${ICONS[kind]} /><div>${text}</div>
    </div>`)}
  </div>`;
}

/** @param {unknown} error */
export function messageOf(error) {
  if (error instanceof DOMException && error.name === "NotAllowedError") return "The passkey was not used: the dialogue was closed or took too long, or there is no passkey for this host.";
  return error instanceof Error ? error.message : String(error);
}
