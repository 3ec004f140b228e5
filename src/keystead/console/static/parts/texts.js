// Small pieces of text: times, statuses, identifiers to copy.
import { html, signal, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { dateInWords, shortened, statusInWords, timeInWords } from "../words.js";
import { takeArrival } from "../router.js";
import { Icon } from "./icons.js";
import { messageOf, tell } from "./notice.js";
import { pageTitle } from "./page_title.js";

const EVERY_MS = 10_000;
/** The time that "5 minutes ago" is told from. */
const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), EVERY_MS);

/** Since the last look at the clock. @param {number} ms */
function isJustNow(ms) {
  return ms > now.value && ms - now.value <= EVERY_MS;
}

/** `exact`: day and time; else how long ago. @param {{ms: number, exact?: boolean}} properties */
export function Time({ ms, exact = false }) {
  const date = new Date(ms);
  return html`<time dateTime=${date.toISOString()} title=${date.toLocaleString("en", { dateStyle: "full", timeStyle: "long" })}>
    ${exact ? dateInWords(ms) : timeInWords(ms, isJustNow(ms) ? ms : now.value)}
  </time>`;
}

/** @param {{status: string}} properties */
export function Status({ status }) {
  const { text, kind } = statusInWords(status);
  return html`<span class=${`badge ${kind}`}>${text}</span>`;
}

/** @param {{kind?: string, children?: any}} properties */
export function Badge({ kind = "", children }) {
  return html`<span class=${`badge plain ${kind}`}>${children}</span>`;
}

/** An identifier with a button that copies it. @param {{text: string, short?: boolean, label?: string}} properties */
export function Copy({ text, short = false, label = "" }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } catch (error) {
      tell(`The browser could not copy: ${messageOf(error)}`, "bad");
    }
  };
  return html`<span class="copy"><code class=${short ? "short" : ""} title=${short ? text : undefined}>${short ? shortened(text) : text}</code>
    <button type="button" onClick=${copy} aria-label=${isCopied ? "Copied" : `Copy ${label || text}`}>
      <${Icon} name=${isCopied ? "done" : "copy"} />
    </button></span>`;
}

/** @param {{title: string, children?: any, action?: any}} properties */
export function Empty({ title, children, action }) {
  return html`<div class="empty"><h2>${title}</h2><p>${children}</p>${action}</div>`;
}

/** The heading of a screen: it names the page, and has the focus on arrival, so that a screen reader says where one is. @param {{title: any, crumbs?: any, note?: any, children?: any}} properties `children`: buttons */
export function Heading({ title, crumbs, note, children }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => void (takeArrival() && heading.current?.focus({ preventScroll: true })), []); // before the person presses anything
  useEffect(() => {
    pageTitle.value = String(title);
    return () => void (pageTitle.value = "");
  }, [title]);
  return html`<header class="heading">
    <div>${crumbs ? html`<div class="crumbs">${crumbs}</div>` : null}
      <h1 ref=${heading} tabindex="-1">${title}</h1>${note ? html`<p class="muted">${note}</p>` : null}</div>
    ${children ? html`<div class="row">${children}</div>` : null}
  </header>`;
}

/** @param {{facts: [string, any][]}} properties rows whose value is null or "" are left out */
export function Facts({ facts }) {
  const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return html`<dl class="facts">${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** @param {{title: any, children?: any, actions?: any, flush?: boolean}} properties `flush`: no space around the content */
export function Card({ title, children, actions, flush = false }) {
  return html`<section class="card"><header><h2>${title}</h2>${actions ? html`<div class="row">${actions}</div>` : null}</header>
    ${flush ? children : html`<div class="body">${children}</div>`}</section>`;
}
