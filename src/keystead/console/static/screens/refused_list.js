// Requests that were refused, from what the server has on record: who, what, when and why; by person, time and words.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { NO_REFUSALS, lookAtRefusals } from "../api/refusals.js";
import { useRepeated } from "../parts/loaded.js";
import { Notice, messageOf } from "../parts/notice.js";
import { PersonFilter } from "../parts/person_filter.js";
import { Table } from "../parts/table.js";
import { Copy, Empty, Facts, Heading, Time } from "../parts/texts.js";
import { place, refine, to } from "../router.js";
import { current } from "../session/session.js";
import { counted, msOf, operationInWords, withShortAddresses, withTypesInWords } from "../words.js";

const AT_ONCE = 50;
const DAY_MS = 86_400_000;
const LOOK_AFTER_MS = 250;
const EVERY_MS = 3000;

/** Where more than this was looked at, the list stays as it is. */
const PAGE = 100;

/** @typedef {import("../api/refusals.js").Refusal} Refusal */
/** @typedef {{userId: string, from: string, until: string, sought: string}} Asked */

export function RefusedList() {
  const of = (/** @type {string} */ name) => place.value.parameters.get(name) ?? "";
  const asked = { userId: of("user"), from: of("from"), until: of("until"), sought: of("search") };
  const [search, setSearch] = useState(NO_REFUSALS);
  const [isBusy, setBusy] = useState(true);
  const [problem, setProblem] = useState("");
  const look = async (/** @type {import("../api/refusals.js").Search} */ before, isWanted = () => true) => {
    setBusy(true);
    setProblem("");
    try {
      const found = await lookAtRefusals(filterOf(asked), before, AT_ONCE);
      if (isWanted()) setSearch(found);
    } catch (error) {
      if (isWanted()) setProblem(messageOf(error));
    } finally {
      if (isWanted()) setBusy(false);
    }
  };
  const key = Object.values(asked).join("\n");
  const shownKey = useRef(key);
  shownKey.current = key;
  useEffect(() => {
    let isWanted = true;
    setSearch(NO_REFUSALS);
    look(NO_REFUSALS, () => isWanted);
    return () => void (isWanted = false);
  }, [key]);
  const refresh = async () => {
    const newest = await lookAtRefusals(filterOf(asked), NO_REFUSALS, AT_ONCE).catch(() => null); // the next look may succeed
    if (newest && shownKey.current === key) setSearch(newest);
  };
  useRepeated(() => void (!isBusy && search.looked <= PAGE && refresh()), EVERY_MS, [key, isBusy, search]);
  const isFiltered = Object.values(asked).some(Boolean);
  return html`<${Heading} title="Refused requests" crumbs=${html`<a href="#/activities">Activities</a>`} note="Requests of this organization's users that the server refused, with the reason that their sender got." />
    <${Filters} asked=${asked} />
    <section class="card">
      ${problem ? html`<div class="body"><${Notice} kind="bad">${problem}<//></div>` : null}
      ${search.found.length ? html`<${Refusals} rows=${search.found} />`
        : isBusy ? html`<div class="loading" role="status">Loading…</div>`
        : html`<${Empty} title=${isFiltered ? "Nothing found" : "Nothing was refused"}>${isFiltered ? "No refused request that is still kept matches." : "A request that breaks a rule, that policies deny or that has mistakes appears here within a second."}<//>`}
      ${search.looked ? html`<div class="more row spread"><span class="muted small" role="status">${counted(search.found.length, "request")}${isFiltered ? ` of ${search.looked.toLocaleString("en")} searched` : ""}${search.last && !search.isOver ? html`, back to <${Time} ms=${msOf(search.last.at)} exact />` : ""}</span>
        ${search.isOver ? null : html`<button type="button" class="button" disabled=${isBusy} onClick=${() => look(search)}>${isBusy ? "Searching…" : isFiltered ? "Search older ones" : "Show older ones"}</button>`}</div>` : null}
    </section>`;
}

/** @param {Asked} asked @returns {import("../api/refusals.js").Filter} */
function filterOf({ userId, from, until, sought }) {
  return {
    userId, words: sought.toLowerCase().split(/\s+/).filter(Boolean),
    fromMs: from ? Date.parse(`${from}T00:00`) : 0, untilMs: until ? Date.parse(`${until}T00:00`) + DAY_MS : Infinity,
  };
}

/** @param {{asked: Asked}} properties */
function Filters({ asked }) {
  const [typed, setTyped] = useState(asked.sought);
  useEffect(() => {
    const timer = setTimeout(() => typed !== asked.sought && refine({ search: typed }), LOOK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const changed = (/** @type {string} */ name) => (/** @type {any} */ event) => refine({ [name]: event.target.value });
  return html`<section class="card"><div class="body refusal-filters">
    <${PersonFilter} id="refused-who" userId=${asked.userId} onChoose=${(/** @type {string} */ user) => refine({ user })} />
    <div class="field"><label for="refused-from">From</label><input id="refused-from" class="input" type="date" value=${asked.from} onChange=${changed("from")} /></div>
    <div class="field"><label for="refused-until">Until</label><input id="refused-until" class="input" type="date" value=${asked.until} onChange=${changed("until")} /></div>
    <div class="field"><label for="refused-words">Words</label><input id="refused-words" class="input" type="search" placeholder="Request, reason, address, id" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></div>
  </div></section>`;
}

/** @param {{rows: Refusal[]}} properties */
function Refusals({ rows }) {
  const [opened, setOpened] = useState("");
  return html`<${Table} caption="Refused requests" isPage rows=${rows} idOf=${(/** @type {Refusal} */ refusal) => refusal.id}
    below=${(/** @type {Refusal} */ refusal) => (opened === refusal.id ? html`<${Details} refusal=${refusal} />` : null)} columns=${[
      { title: "Request", cell: (/** @type {Refusal} */ refusal) => (refusal.userId ? html`<button type="button" class="link" aria-expanded=${opened === refusal.id} onClick=${() => setOpened(opened === refusal.id ? "" : refusal.id)}>${operationInWords(refusal.operation)}</button>` : ""), width: "request-column" },
      { title: "Who", cell: (/** @type {Refusal} */ refusal) => (refusal.userId ? refusal.userName || "a user who was deleted" : html`<span class="muted">several</span>`), isName: true },
      { title: "Why", cell: (/** @type {Refusal} */ refusal) => reasonInWords(refusal.reason) },
      { title: "When", cell: (/** @type {Refusal} */ refusal) => html`<${Time} ms=${msOf(refusal.at)} exact />`, tight: true },
    ]} />`;
}

/** Without the organization, which is this one. @param {string} reason */
function reasonInWords(reason) {
  return withShortAddresses(withTypesInWords(reason).replace(` in organization ${current().organizationId}`, ""));
}

/** @param {{refusal: Refusal}} properties */
function Details({ refusal }) {
  return html`<${Facts} facts=${[
    ["Reason", html`<span class="wrap">${withTypesInWords(refusal.reason)}</span>`],
    ["Decision", refusal.activityId ? html`<a href=${to(["activities", refusal.activityId])}>Outcome of each policy</a>` : null],
    ["Answer", `HTTP ${refusal.status}${refusal.code ? `, ${refusal.code}` : ""}`],
    ["Came from", refusal.address],
    ["User", html`<a href=${to(["users", refusal.userId])}>${refusal.userName || "a user who was deleted"}</a>`],
    ["Request id", html`<${Copy} text=${refusal.requestId} label="request id" />`],
  ]} />`;
}
