// Audit: who asked for what, with which credential, and who allowed it; by question, person and time.
import { html, useEffect, useState } from "../vendor/preact.js";
import { NOTHING, QUESTIONS, csvOf, lookFurther, typesOf } from "../api/audit.js";
import { headlineOf } from "../api/descriptions.js";
import { approvalsOf, askerName, credentialOf, rejectionsOf } from "../api/summary.js";
import { save } from "../parts/files.js";
import { Notice, messageOf } from "../parts/notice.js";
import { PersonFilter } from "../parts/person_filter.js";
import { Table } from "../parts/table.js";
import { Empty, Heading, Status, Time } from "../parts/texts.js";
import { place, refine, to } from "../router.js";
import { ALL_STATUSES, counted, msOf, statusInWords, withShortAddresses } from "../words.js";

const AT_ONCE = 50;
const DAY_MS = 86_400_000;
const LOOK_AFTER_MS = 250;

/** @typedef {any} Activity */
const COLUMNS = [
  { title: "When", cell: (/** @type {Activity} */ activity) => html`<${Time} ms=${msOf(activity.createdAt)} exact />`, tight: true },
  { title: "What", cell: (/** @type {Activity} */ activity) => withShortAddresses(headlineOf(activity)), leads: true },
  { title: "Submitted by", cell: (/** @type {Activity} */ activity) => html`${askerName(activity)}
    <div class="small muted">${activity.votes[0] ? credentialOf(activity.votes[0]) : ""}</div>`, isName: true },
  { title: "Approved by", cell: allowedBy, isName: true },
  { title: "Outcome", cell: (/** @type {Activity} */ activity) => html`<${Status} status=${activity.status} />`, tight: true },
];

/** @param {Activity} activity */
function allowedBy(activity) {
  const [approvals, rejections] = [approvalsOf(activity), rejectionsOf(activity)];
  if (rejections.length) return html`<span class="muted">rejected by</span> ${named(rejections)}`;
  if (approvals.length) return named(approvals);
  return html`<span class="muted">${activity.status === "ACTIVITY_STATUS_COMPLETED" ? "no approval needed" : ""}</span>`;
}

/** @param {any[]} votes */
function named(votes) {
  return votes.map((vote) => vote.user.userName).join(", ");
}

export function AuditScreen() {
  const of = (/** @type {string} */ name) => place.value.parameters.get(name) ?? "";
  const [search, setSearch] = useState(NOTHING);
  const [isBusy, setBusy] = useState(true);
  const [problem, setProblem] = useState("");
  const asked = ["question", "status", "user", "from", "until", "search"].map(of);
  const [question, status, userId, from, until, sought] = asked;
  const look = async (/** @type {import("../api/audit.js").Search} */ before, isWanted = () => true) => {
    setBusy(true);
    setProblem("");
    try {
      const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
      const [fromMs, untilMs] = [from ? Date.parse(`${from}T00:00`) : 0, until ? Date.parse(`${until}T00:00`) + DAY_MS : Infinity];
      const found = await lookFurther({ types: await typesOf(question), status, userId, words, fromMs, untilMs }, before, AT_ONCE);
      if (isWanted()) setSearch(found);
    } catch (error) {
      if (isWanted()) setProblem(messageOf(error));
    } finally {
      if (isWanted()) setBusy(false);
    }
  };
  useEffect(() => {
    let isWanted = true;
    setSearch(NOTHING);
    look(NOTHING, () => isWanted);
    return () => void (isWanted = false);
  }, [asked.join("\n")]);
  return html`<${Heading} title="Audit" note="Who submitted what, with which credential, and who approved it.">
      <button type="button" class="button" disabled=${!search.found.length} onClick=${() => save("audit.csv", "text/csv", csvOf(search.found))}>Save as CSV</button>
    <//>
    <${Filters} asked=${{ question, status, userId, from, until, sought }} />
    <section class="card">
      ${problem ? html`<div class="body"><${Notice} kind="bad">${problem}<//></div>` : null}
      ${search.found.length ? html`<${Table} caption="Activities" isPage columns=${COLUMNS} rows=${search.found}
        href=${(/** @type {Activity} */ activity) => to(["activities", activity.id])} idOf=${(/** @type {Activity} */ activity) => activity.id} />`
        : isBusy ? html`<div class="loading" role="status">Loading…</div>` : html`<${Empty} title="Nothing found">No activity on record matches.<//>`}
      <div class="more row spread"><span class="muted small" role="status">${search.looked ? `${counted(search.found.length, "activity", "activities")} of ${search.looked.toLocaleString("en")} searched` : ""}
        ${search.last ? html`, back to <${Time} ms=${msOf(search.last.createdAt)} exact />` : null}</span>
        ${search.looked && !search.isOver ? html`<button type="button" class="button" disabled=${isBusy} onClick=${() => look(search)}>${isBusy ? "Searching…" : "Search older activities"}</button>` : null}</div>
    </section>`;
}

/** @param {{asked: {question: string, status: string, userId: string, from: string, until: string, sought: string}}} properties */
function Filters({ asked }) {
  const [typed, setTyped] = useState(asked.sought);
  useEffect(() => {
    const timer = setTimeout(() => typed !== asked.sought && refine({ search: typed }), LOOK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const changed = (/** @type {string} */ name) => (/** @type {any} */ event) => refine({ [name]: event.target.value });
  return html`<section class="card"><div class="body audit-filters">
    <div class="field"><label for="audit-question">Question</label><select id="audit-question" class="input" value=${asked.question} onChange=${changed("question")}>
      <option value="">Everything</option>${Object.entries(QUESTIONS).map(([name, [words]]) => html`<option value=${name}>${words}</option>`)}</select></div>
    <${PersonFilter} id="audit-user" userId=${asked.userId} onChoose=${(/** @type {string} */ user) => refine({ user })} />
    <div class="field"><label for="audit-status">Outcome</label><select id="audit-status" class="input" value=${asked.status} onChange=${changed("status")}>
      <option value="">Any</option>${ALL_STATUSES.map((each) => html`<option value=${each}>${statusInWords(each).text}</option>`)}</select></div>
    <div class="field"><label for="audit-from">From</label><input id="audit-from" class="input" type="date" value=${asked.from} onChange=${changed("from")} /></div>
    <div class="field"><label for="audit-until">Until</label><input id="audit-until" class="input" type="date" value=${asked.until} onChange=${changed("until")} /></div>
    <div class="field"><label for="audit-search">Words</label><input id="audit-search" class="input" type="search" placeholder="Name, address, id" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></div>
  </div></section>`;
}
