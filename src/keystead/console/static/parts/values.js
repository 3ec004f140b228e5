// Any value of the API, shown for reading: objects as facts, lists as lists, identifiers by the name of their record.
import { html } from "../vendor/preact.js";
import { durationInWords, fieldInWords, msOf, textInWords, withShortAddresses } from "../words.js";
import { Copy, Time } from "./texts.js";

const ID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;
const LONG = 160;

/**
 * @param {{value: any, names?: Map<string, import("../api/directory.js").Named>}} properties
 */
export function Value({ value, names }) {
  if (value === null || value === undefined || value === "") return html`<span class="muted">none</span>`;
  if (Array.isArray(value)) {
    if (!value.length) return html`<span class="muted">none</span>`;
    return html`<ul class="stack tight">${value.map((item) => html`<li><${Value} value=${item} names=${names} /></li>`)}</ul>`;
  }
  if (typeof value === "object") {
    if (isTime(value)) return html`<${Time} ms=${msOf(value)} />`;
    if (!Object.keys(value).length) return html`<span class="muted">none</span>`;
    const given = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
    return html`<dl class="facts boxed">${given.map(([name, inner]) => html`<dt>${fieldInWords(name)}</dt><dd>${isSeconds(name, inner) ? durationInWords(Number(inner)) : html`<${Value} value=${inner} names=${names} />`}</dd>`)}</dl>`;
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = textInWords(String(value));
  const named = names?.get(text);
  if (named) return html`<a href=${named.href}>${named.name}</a> <span class="muted small">${named.what}</span>`;
  if (ID.test(text) || /^(0x)?[0-9a-f]{16,}$/i.test(text)) return html`<${Copy} text=${text} short=${text.length > LONG} />`;
  if (text.length > LONG) return html`<details><summary class="wrap">${text.slice(0, LONG)}…</summary><pre class="wrap long">${text}</pre></details>`;
  return html`<span class="wrap">${withoutIds(text, names)}</span>`;
}

/** A sentence with a link for each "name (id)", and for each id of a record. @param {string} text @param {Map<string, import("../api/directory.js").Named>} [names] */
export function withoutIds(text, names) {
  const parts = text.split(/((?:'[^']*' )?\(?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\)?)/);
  return parts.map((part, index) => {
    const named = index % 2 ? names?.get(part.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/)?.[0] ?? "") : undefined;
    return named ? html`<a href=${named.href}>${named.name}</a>` : index % 2 ? withShortAddresses(part) : part;
  });
}

/** Whether a member is a duration. @param {string} name @param {any} value */
export function isSeconds(name, value) {
  return /Seconds$/.test(name) && /^\d+$/.test(String(value));
}

/** @param {any} value */
function isTime(value) {
  return Object.keys(value).join() === "seconds,nanos";
}
