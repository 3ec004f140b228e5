// The palette: one field that finds screens, records and actions by their words, and goes there.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { operations } from "../api/catalogue.js";
import { names } from "../api/directory.js";
import { go, to } from "../router.js";
import { operationInWords } from "../words.js";
import { Icon } from "./icons.js";
import { useLoaded } from "./loaded.js";

const SHOWN_MAX = 40;

/** @typedef {{title: string, what: string, href: string}} Place `what`: in a word */

/** What people do every day, under the words that they look for. @type {Place[]} */
const TASKS = [
  ["Add a person", "users/new"], ["Invite somebody", "users/new"], ["Choose who approves everything", "organization"], ["New wallet", "wallets/new"], ["Import a wallet", "wallets/import"],
  ["Sign a message", "sign"], ["New policy", "policies/new"], ["Refused requests", "activities/refused"],
].map(([title, address]) => ({ title, what: "Action", href: to(address.split("/")) }));

/** @returns {Promise<Place[]>} */
async function records() {
  return [...(await names())].map(([, { name, what, href }]) => ({ title: name, what, href }));
}

/** @returns {Promise<Place[]>} */
async function actions() {
  return (await operations()).map(({ name }) => ({ title: operationInWords(name), what: "Form", href: to(["actions", name]) }));
}

/** How well a place fits: 0 for not at all. @param {Place} place @param {string[]} words */
function fit({ title, what }, words) {
  const text = title.toLowerCase();
  if (!words.every((word) => text.includes(word) || what.toLowerCase().includes(word))) return 0;
  return text.startsWith(words.join(" ")) ? 3 : words.every((word) => new RegExp(`(^|\\W)${word.replace(/\W/g, "\\$&")}`).test(text)) ? 2 : 1;
}

/** @param {{screens: Place[], onClose: () => void}} properties */
export function Palette({ screens, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [sought, setSought] = useState("");
  const [at, setAt] = useState(0);
  const found = useLoaded(async () => (await Promise.all([records(), actions()])).flat(), []);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const shown = useMemo(() => {
    const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...TASKS, ...screens, ...(words.length ? found.value ?? [] : [])];
    return all.map((place) => ({ place, fit: words.length ? fit(place, words) : 1 })).filter((each) => each.fit).sort((one, other) => other.fit - one.fit).slice(0, SHOWN_MAX).map(({ place }) => place);
  }, [sought, found.value]);
  useEffect(() => document.getElementById(`place-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
  const press = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) setAt((at + by + shown.length) % Math.max(shown.length, 1));
    else if (event.key === "Enter" && shown[at]) leave(shown[at].href);
    else return;
    event.preventDefault();
  };
  const leave = (/** @type {string} */ href) => {
    dialog.current?.close();
    go(href);
  };
  return html`<dialog ref=${dialog} class="palette" aria-label="Find a screen, a record or an action" onClose=${onClose}>
    <div class="palette-field"><${Icon} name="search" /><input class="plain" type="text" role="combobox" aria-expanded="true" aria-controls="places" aria-autocomplete="list" autocomplete="off" spellcheck=${false}
      aria-activedescendant=${shown.length ? `place-${at}` : undefined} aria-label="Find a screen, a record or an action" placeholder="Find a screen, a record or an action" value=${sought}
      onInput=${(/** @type {any} */ event) => (setSought(event.target.value), setAt(0))} onKeyDown=${press} /></div>
    <div id="places" class="places" role="listbox" aria-label="Found" tabindex="-1">${shown.map((place, index) => html`<a key=${`${place.href} ${place.title}`} id=${`place-${index}`} role="option" tabindex="-1"
      aria-selected=${index === at} href=${place.href} onClick=${() => dialog.current?.close()} onMouseMove=${() => setAt(index)}><span class="wrap">${place.title}</span><span class="muted small">${place.what}</span></a>`)}</div>
    ${shown.length ? null : html`<p class="muted nothing" role="status">${found.isLoading ? "Loading…" : `Nothing is called “${sought}”.`}</p>`}
  </dialog>`;
}
