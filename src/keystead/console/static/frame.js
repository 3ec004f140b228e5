// The frame around every screen: navigation, who is logged in, theme, log out.
import { html, useEffect, useState } from "./vendor/preact.js";
import { Icon } from "./parts/icons.js";
import { place, to } from "./router.js";
import { current, logOut } from "./session/session.js";
import { switchTheme, theme } from "./theme.js";
import { useLoaded, useRepeated } from "./parts/loaded.js";
import { useNotifications } from "./parts/notifications.js";
import { Palette } from "./parts/palette.js";
import { ShortcutList, moveInRows, searchHere, useShortcuts } from "./parts/shortcuts.js";
import { collections } from "./api/collections.js";
import { loadWaiting, waitingForMe } from "./api/waiting.js";
import { SessionEnd } from "./session_end.js";
import { operationInWords } from "./words.js";

const EVERY_MS = 3000;
const EVERY_HIDDEN_MS = 30_000;

/** @type {[string, string, import("./parts/icons.js").IconName][]} */
const FIRST = [["activities", "Activities", "activity"], ["policies", "Policies", "policy"], ["limits", "Limits", "clock"], ["overview", "Overview", "chart"], ["audit", "Audit", "audit"], ["sign", "Sign a message", "sign"]];

/** @type {[string, string, import("./parts/icons.js").IconName][]} */
const RECORDS = [
  ["users", "Users", "user"],
  ["wallets", "Wallets", "wallet"],
  ["private-keys", "Private keys", "key"],
  ["contracts", "Contract interfaces", "contract"],
  ["sub-organizations", "Sub-organizations", "layers"],
];

/** @param {{children?: any}} properties */
export function Frame({ children }) {
  const [isOpen, setOpen] = useState(false);
  const { path, parts } = place.value;
  useEffect(() => setOpen(false), [path]);
  const look = () => void loadWaiting().catch(() => undefined); // the next look may succeed
  useEffect(look, []);
  useRepeated(look, EVERY_MS, []);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "hidden" && look(), EVERY_HIDDEN_MS); // for the title and notifications
    return () => clearInterval(timer);
  }, []);
  useNotifications();
  const [opened, setOpened] = useState(/** @type {"" | "palette" | "keys"} */ (""));
  useShortcuts({ j: () => moveInRows(1), k: () => moveInRows(-1), "/": searchHere, "?": () => setOpened("keys") });
  useEffect(() => {
    const open = (/** @type {KeyboardEvent} */ event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k" || event.altKey || event.shiftKey) return;
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) setOpened("palette");
    };
    addEventListener("keydown", open);
    return () => removeEventListener("keydown", open);
  }, []);
  const { userId, userName, organizationName } = current();
  const further = useLoaded(collections, []);
  const isDevelopment = document.documentElement.dataset.mode === "dev";
  const named = [...FIRST, ...RECORDS, ["organization", "Organization"], ...(further.value ?? []).map(({ name }) => [`records/${name}`, operationInWords(name)]), ["actions", "All actions"], ...(isDevelopment ? [["development", "Development"]] : [])];
  const screens = named.map(([name, title]) => ({ title, what: "Screen", href: to(name.split("/")) }));
  const link = (/** @type {string} */ name, /** @type {string} */ title, /** @type {import("./parts/icons.js").IconName} */ icon, count = 0) =>
    html`<a href=${to(name.split("/"))} aria-current=${parts.slice(0, name.split("/").length).join("/") === name || (!parts.length && name === "activities") ? "page" : undefined}>
      <${Icon} name=${icon} />${title}${count ? html`<span class="count" aria-label=${`${count} wait for you`}>${count}</span>` : null}</a>`;
  return html`<div class="frame">
    <header class=${`side ${isOpen ? "open" : ""}`}>
      <a class="skip" href=${location.hash || "#/"} onClick=${(/** @type {Event} */ event) => {
      event.preventDefault();
      document.getElementById("main")?.focus();
    }}>Skip to the content</a>
      <div class="bar">
        <a class="brand" href="#/activities"><img src="icon.svg" alt="" />Keystead</a>
        <button type="button" class="button plain icon-only menu-button" aria-expanded=${isOpen} aria-label="Menu" onClick=${() => setOpen(!isOpen)}>
          <${Icon} name="menu" /></button>
      </div>
      <nav aria-label="Console">
        <button type="button" class="find" aria-keyshortcuts="Control+K" onClick=${() => setOpened("palette")}><${Icon} name="search" />Find<kbd aria-hidden="true">Ctrl K</kbd></button>
        ${FIRST.map(([name, title, icon]) => link(name, title, icon, name === "activities" ? waitingForMe.value : 0))}
        <div class="group">Records</div>
        ${RECORDS.map(([name, title, icon]) => link(name, title, icon))}
        <div class="group">Settings</div>
        ${link("organization", "Organization", "organization")}
        ${further.value?.map(({ name }) => link(`records/${name}`, operationInWords(name), "list"))}
        <div class="group">More</div>
        ${link("actions", "All actions", "bolt")}
        ${isDevelopment ? link("development", "Development", "tools") : null}
      </nav>
      <div class="account">
        <a class="who" href=${to(["users", userId])}><span class="avatar" aria-hidden="true">${[...userName][0]?.toUpperCase()}</span>
          <span><b>${userName}</b><span class="small muted">${organizationName}</span></span></a>
        <div class="tools">
          <button type="button" class="button plain tiny" onClick=${switchTheme}>
            <${Icon} name=${theme.value === "dark" ? "sun" : "moon"} />${theme.value === "dark" ? "Light" : "Dark"}</button>
          <button type="button" class="button plain tiny" aria-label="Keys" onClick=${() => setOpened("keys")}>?</button>
          <button type="button" class="button plain tiny" onClick=${() => logOut()}><${Icon} name="logout" />Log out</button>
        </div>
      </div>
    </header>
    <main id="main" class="main" tabindex="-1"><div class="page"><${SessionEnd} />${children}</div></main>
    ${opened === "palette" ? html`<${Palette} screens=${screens} onClose=${() => setOpened("")} />` : null}
    ${opened === "keys" ? html`<${ShortcutList} onClose=${() => setOpened("")} />` : null}
  </div>`;
}
