// Records without a screen of their own, as the catalogue describes them: all of a kind, and one with what can be done with it.
import { html } from "../vendor/preact.js";
import { collections } from "../api/collections.js";
import { names } from "../api/directory.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { ActionLink } from "../parts/records.js";
import { SearchedTable } from "../parts/table.js";
import { Card, Copy, Empty, Heading, Time } from "../parts/texts.js";
import { Value, isSeconds } from "../parts/values.js";
import { place, to } from "../router.js";
import { durationInWords, fieldInWords, inSentence, msOf, operationInWords, sentence, textInWords } from "../words.js";

/** @typedef {import("../api/collections.js").Collection} Collection */

const COLUMNS_MAX = 3;

export function CollectionScreen() {
  const [, name, id] = place.value.parts;
  const loaded = useLoaded(async () => {
    const collection = (await collections()).find((each) => each.name === name);
    const [records, directory] = await Promise.all([collection?.load(), names()]);
    return { collection, records, directory };
  }, [name]);
  return html`<${Loaded} of=${loaded}>${(/** @type {any} */ { collection, records, directory }) => {
    if (!collection) return html`<${Heading} title="Not found" /><${Empty} title="There are no such records">This server does not list them.<//>`;
    if (!id) return html`<${CollectionList} collection=${collection} records=${records} />`;
    return html`<${RecordPage} collection=${collection} id=${id} record=${records.find((/** @type {any} */ each) => each[collection.idField] === id)} directory=${directory} />`;
  }}<//>`;
}

/** @param {{collection: Collection, records: any[]}} properties */
function CollectionList({ collection, records }) {
  const title = operationInWords(collection.name);
  return html`<${Heading} title=${title} note=${collection.summary}>
      ${collection.creating.map(({ name }) => html`<${ActionLink} key=${name} operation=${name}>New ${inSentence(sentence(name.replace("create_", "")))}<//>`)}
    <//>
    <${SearchedTable} title=${title} caption=${title} rows=${records} idOf=${(/** @type {any} */ record) => record[collection.idField]}
      href=${(/** @type {any} */ record) => to(["records", collection.name, record[collection.idField]])} textOf=${(/** @type {any} */ record) => JSON.stringify(record)}
      empty=${html`<${Empty} title=${`No ${inSentence(title)}`}>There are none in this organization.<//>`} columns=${columnsOf(records, collection)} />`;
}

/** @param {any} record @param {Collection} collection */
function labelOf(record, collection) {
  const named = (/** @type {RegExp} */ pattern) => Object.keys(record).find((name) => pattern.test(name) && record[name]);
  const field = named(/name$|^label$/i) ?? named(/^url$/);
  return String(record[field ?? collection.idField]);
}

const MOMENT = /UnixMs$/;

/** Its name first, then what else is short, then when it was made. @param {any[]} records @param {Collection} collection */
function columnsOf(records, collection) {
  const [first] = records;
  const label = first ? labelOf(first, collection) : "";
  const madeAt = Object.keys(first ?? {}).find((name) => name === "createdAt" || name === "createdAtUnixMs");
  const short = Object.keys(first ?? {}).filter((name) => !isTime(first[name]) && !MOMENT.test(name) && typeof first[name] !== "object" && name !== collection.idField && !/Ids?$/.test(name) && String(first[name]) !== label);
  return [
    { title: "Name", cell: (/** @type {any} */ record) => labelOf(record, collection) },
    ...short.slice(0, COLUMNS_MAX).map((name) => ({ title: fieldInWords(name), cell: (/** @type {any} */ record) => html`<span class="clip">${typeof record[name] === "boolean" ? (record[name] ? "yes" : "no") : isSeconds(name, record[name]) ? durationInWords(Number(record[name])) : textInWords(String(record[name] ?? ""))}</span>` })),
    ...(madeAt ? [{ title: "Created", cell: (/** @type {any} */ record) => html`<${RecordTime} time=${record[madeAt]} />`, tight: true }] : []),
  ];
}

/** @param {{time: any}} properties as records have it, or milliseconds since 1970 */
function RecordTime({ time }) {
  return html`<${Time} ms=${isTime(time) ? msOf(time) : Number(time)} />`;
}

/** @param {any} value */
function isTime(value) {
  return value !== null && typeof value === "object" && "seconds" in value;
}

/** @param {{collection: Collection, id: string, record: any, directory: Map<string, any>}} properties */
function RecordPage({ collection, id, record, directory }) {
  const crumbs = html`<a href=${to(["records", collection.name])}>${operationInWords(collection.name)}</a>`;
  if (!record) return html`<${Heading} title="Not found" crumbs=${crumbs} /><${Empty} title="There is no such record">It may have been deleted.<//>`;
  const { [collection.idField]: _, organizationId: own, ...rest } = record; // it is of this organization
  return html`<${Heading} title=${labelOf(record, collection)} crumbs=${crumbs}>
      ${collection.changing.map(({ name }) => html`<${ActionLink} key=${name} operation=${name} fields=${fieldsFor(record, collection, name)} danger=${name.startsWith("delete_")}>${sentence(name.split("_")[0])}<//>`)}
    <//>
    <${Card} title="Details"><dl class="facts"><dt>Id</dt><dd><${Copy} text=${id} /></dd>
      ${Object.entries(rest).filter(([, value]) => value !== null).map(([name, value]) => html`<dt>${fieldInWords(name.replace(MOMENT, ""))}</dt><dd>${MOMENT.test(name) ? html`<${RecordTime} time=${value} />` : isSeconds(name, value) ? durationInWords(Number(value)) : html`<${Value} value=${value} names=${directory} />`}</dd>`)}</dl><//>`;
}

/** What a form about this record begins with. @param {any} record @param {Collection} collection @param {string} operation @returns {Record<string, string>} */
function fieldsFor(record, { idField }, operation) {
  const id = { [idField]: record[idField], [`${idField}s`]: record[idField] };
  if (operation.startsWith("delete_")) return id;
  return { ...Object.fromEntries(Object.entries(record).filter(([, value]) => typeof value === "string")), ...id };
}
