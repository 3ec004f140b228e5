// Small pieces of text: times, statuses, identifiers to copy.
import { html, useState } from "../vendor/preact.js";
import { shortened, statusInWords, timeInWords } from "../words.js";
import { Icon } from "./icons.js";
import { messageOf, tell } from "./notice.js";

/** @param {{ms: number}} properties */
export function Time({ ms }) {
  const date = new Date(ms);
  return html`<time dateTime=${date.toISOString()} title=${date.toLocaleString("en", { dateStyle: "full", timeStyle: "long" })}>
    ${timeInWords(ms, Date.now())}
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
      tell(`This browser did not copy: ${messageOf(error)}`, "bad");
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

/** The heading of a screen. @param {{title: any, crumbs?: any, note?: any, children?: any}} properties `children`: buttons */
export function Heading({ title, crumbs, note, children }) {
  return html`<header class="heading">
    <div>${crumbs ? html`<div class="crumbs">${crumbs}</div>` : null}
      <h1 tabindex="-1">${title}</h1>${note ? html`<p class="muted">${note}</p>` : null}</div>
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
