// A table of records. It draws some rows at a time, so that ten thousand do not stop the page.
import { html, useMemo, useRef, useState } from "../vendor/preact.js";
import { counted } from "../words.js";
import { Icon } from "./icons.js";
import { Empty } from "./texts.js";

const AT_ONCE = 100;

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: any) => any} cell
 * @property {boolean} [tight] as narrow as its content
 * @property {boolean} [isName] one line, cut where it is long
 * @property {boolean} [leads] its cell leads to the record, in place of the first
 * @property {(row: any) => any} [before] what stands before the link of the leading cell, such as a tick
 * @property {string} [width] a class with a width, for tables that stand above each other
 */

/**
 * The first column, or the one that says so, leads to the record, if `href` is given. `isPage`: the rows are pages that the person
 * asked for, so all are drawn.
 * @param {{caption: string, columns: Column[], rows: any[], href?: (row: any) => string, idOf: (row: any) => string, isPage?: boolean,
 *   below?: (row: any) => any}} properties `below`: what is shown under a row, over the whole width; null for nothing
 */
export function Table({ caption, columns, rows, href, idOf, below, isPage = false }) {
  const [most, setDrawn] = useState(AT_ONCE);
  const drawn = isPage ? rows.length : most;
  const rest = rows.length - drawn;
  // An element that is the same as before is not drawn anew: only new rows cost time.
  const drawnBefore = useRef({ columns, elements: /** @type {Map<any, any>} */ (new Map()) });
  const known = drawnBefore.current.columns === columns ? drawnBefore.current.elements : new Map();
  const elements = new Map(rows.slice(0, drawn).map((row) => [row, known.get(row) ?? html`<${Row} key=${idOf(row)} row=${row} columns=${columns} href=${href} below=${below} />`]));
  drawnBefore.current = { columns, elements };
  return html`<table class=${`table ${href ? "linked" : ""}`}>
      <caption class="visually-hidden">${caption}</caption>
      <thead><tr>${columns.map((column) => html`<th scope="col" class=${widthOf(column)}>${column.title}</th>`)}</tr></thead>
      <tbody>${[...elements.values()]}</tbody>
    </table>
    ${rest > 0 ? html`<div class="more"><button type="button" class="button" onClick=${() => setDrawn(drawn + AT_ONCE)}>
      Show more (${counted(rest, "further record", "further records")})</button></div>` : null}`;
}

/** @param {{row: any, columns: Column[], href?: (row: any) => string, below?: (row: any) => any}} properties */
function Row({ row, columns, href, below }) {
  const shown = below?.(row);
  const lead = Math.max(columns.findIndex((column) => column.leads), 0);
  return html`<tr>${columns.map((column, index) => html`<td class=${`${index === lead ? "lead" : ""} ${widthOf(column)}`} data-label=${column.title}>
    ${column.before ? html`<span class="before">${column.before(row)}</span>` : null}${index === lead && href ? html`<a class="row-link" href=${href(row)}>${column.cell(row)}</a>` : column.cell(row)}</td>`)}</tr>
    ${shown ? html`<tr><td colspan=${columns.length} class="below">${shown}</td></tr>` : null}`;
}

/** @param {Column} column */
function widthOf({ tight, isName, width }) {
  return width ?? (isName ? "name" : tight ? "tight" : "");
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

/** @param {{href: string, primary?: boolean, children?: any}} properties */
export function NewButton({ href, primary = false, children }) {
  return html`<a class=${`button ${primary ? "primary" : ""}`} href=${href}><${Icon} name="plus" />${children}</a>`;
}
