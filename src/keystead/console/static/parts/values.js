// Any value of the API, shown for reading: objects as facts, lists as lists, identifiers by the name of their record.
import { html } from "../vendor/preact.js";
import { fieldInWords, msOf } from "../words.js";
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
    return html`<dl class="facts boxed">${given.map(([name, inner]) => html`<dt>${fieldInWords(name)}</dt><dd><${Value} value=${inner} names=${names} /></dd>`)}</dl>`;
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = String(value);
  const named = names?.get(text);
  if (named) return html`<a href=${named.href}>${named.name}</a> <span class="muted small">${named.what}</span>`;
  if (ID.test(text) || /^(0x)?[0-9a-f]{16,}$/i.test(text)) return html`<${Copy} text=${text} short=${text.length > LONG} />`;
  if (text.length > LONG) return html`<details><summary class="wrap">${text.slice(0, LONG)}…</summary><pre class="wrap long">${text}</pre></details>`;
  return html`<span class="wrap">${text}</span>`;
}

/** @param {any} value */
function isTime(value) {
  return Object.keys(value).join() === "seconds,nanos";
}
