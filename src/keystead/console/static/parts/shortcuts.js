// Keys that do something on the screen that is shown, while nothing is typed; and the list of them.
import { html, signal, useLayoutEffect, useRef } from "../vendor/preact.js";
import { Dialog } from "./dialog.js";

/** The keys that are always there, and those of activities, for the list. @type {[string, string][]} */
const LIST = [
  ["Ctrl K", "Find a screen, a record or an action"], ["/", "Search this list"], ["j, k", "Next and previous row; on an activity: the next and the previous that waits"],
  ["Enter", "Open the row"], ["a", "Approve the activity"], ["r", "Reject the activity"], ["?", "Show these keys"],
];
const NAME = "singleKeys";

/** Keys without Ctrl can be turned off: speech input and some assistive tools type single letters. */
const areSingleKeysOn = signal(localStorage.getItem(NAME) !== "off");

/** The keys of the parts that are shown; the part that was shown last comes first. @type {{current: Record<string, () => void>}[]} */
const shown = [];

/** @param {Record<string, () => void>} keys by the character that is typed; the same ones each time */
export function useShortcuts(keys) {
  const newest = useRef(keys);
  newest.current = keys;
  useLayoutEffect(() => { // before anything can be pressed
    shown.unshift(newest);
    return () => void shown.splice(shown.indexOf(newest), 1);
  }, []);
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !areSingleKeysOn.value || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const act = shown.find(({ current }) => event.key in current)?.current[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

/** Moves the focus to the next or the previous row that leads somewhere. @param {1 | -1} by */
export function moveInRows(by) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main .row-link")]);
  const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const next = rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** Puts the focus into the search of the screen. */
export function searchHere() {
  /** @type {HTMLInputElement | null} */ (document.querySelector("main input[type=search]"))?.focus();
}

/** @param {{onClose: () => void}} properties */
export function ShortcutList({ onClose }) {
  const change = (/** @type {any} */ event) => {
    areSingleKeysOn.value = event.target.checked;
    localStorage.setItem(NAME, event.target.checked ? "on" : "off");
  };
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <dl class="facts keys">${LIST.map(([keys, what]) => html`<dt>${keys.split(", ").map((key, index) => html`${index ? " " : ""}<kbd>${key}</kbd>`)}</dt><dd>${what}</dd>`)}</dl>
    <label class="check"><input type="checkbox" checked=${areSingleKeysOn.value} onChange=${change} />Use keys without Ctrl</label><//>`;
}
