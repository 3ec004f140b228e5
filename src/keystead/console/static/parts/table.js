// A table of records. It draws some rows at a time, so that ten thousand do not stop the page.
import { html, useMemo, useState } from "../vendor/preact.js";
import { counted } from "../words.js";
import { Icon } from "./icons.js";
import { Empty } from "./texts.js";

const AT_ONCE = 100;

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: any) => any} cell
 * @property {boolean} [tight] as narrow as its content
 */

/**
 * The first column leads to the record, if `href` is given.
 * @param {{caption: string, columns: Column[], rows: any[], href?: (row: any) => string, idOf: (row: any) => string}} properties
 */
export function Table({ caption, columns, rows, href, idOf }) {
  const [drawn, setDrawn] = useState(AT_ONCE);
  const rest = rows.length - drawn;
  const first = (/** @type {any} */ row, /** @type {Column} */ column) =>
    href ? html`<a class="row-link" href=${href(row)}>${column.cell(row)}</a>` : column.cell(row);
  return html`<table class=${`table ${href ? "linked" : ""}`}>
      <caption class="visually-hidden">${caption}</caption>
      <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.tight ? "tight" : ""}>${column.title}</th>`)}</tr></thead>
      <tbody>${rows.slice(0, drawn).map((row) => html`<tr key=${idOf(row)}>
        ${columns.map((column, index) => html`<td class=${`${index ? "" : "lead"} ${column.tight ? "tight" : ""}`} data-label=${column.title}>
          ${index ? column.cell(row) : first(row, column)}</td>`)}
      </tr>`)}</tbody>
    </table>
    ${rest > 0 ? html`<div class="more"><button type="button" class="button" onClick=${() => setDrawn(drawn + AT_ONCE)}>
      Show more (${counted(rest, "further record", "further records")})</button></div>` : null}`;
}

/**
 * A card with a table and a search in it. `textOf`: what is searched.
 * @param {{title: any, caption: string, columns: Column[], rows: any[], href?: (row: any) => string, idOf: (row: any) => string,
 *   textOf: (row: any) => string, empty: any, actions?: any}} properties
 */
export function SearchedTable({ title, rows, textOf, empty, actions, ...table }) {
  const [sought, setSought] = useState("");
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = useMemo(() => rows.map((row) => textOf(row).toLowerCase()), [rows]);
  const found = words.length ? rows.filter((_, index) => words.every((word) => texts[index].includes(word))) : rows;
  return html`<section class="card">
    <header><h2>${title} <span class="muted">${rows.length.toLocaleString("en")}</span></h2>
      <div class="row">
        ${rows.length > 5 ? html`<input class="input" type="search" placeholder="Search" aria-label=${`Search ${table.caption}`}
          value=${sought} onInput=${(/** @type {any} */ event) => setSought(event.target.value)} />` : null}
        ${actions}
      </div></header>
    ${rows.length === 0 ? empty
      : found.length === 0 ? html`<${Empty} title="Nothing found">No record contains “${sought}”.<//>`
      : html`<${Table} ...${table} rows=${found} />`}
  </section>`;
}

/** @param {{href: string, children?: any}} properties */
export function NewButton({ href, children }) {
  return html`<a class="button" href=${href}><${Icon} name="plus" />${children}</a>`;
}
