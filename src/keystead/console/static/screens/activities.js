// Activities: those that wait for the person first, then all of them, with filters, page by page.
import { html, useEffect, useMemo, useState } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { askedBy } from "../api/summary.js";
import { useRepeated } from "../parts/loaded.js";
import { Notice, messageOf } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { Empty, Heading, Status, Time } from "../parts/texts.js";
import { place, refine, to } from "../router.js";
import { ALL_STATUSES, msOf, statusInWords, typeInWords, withShortAddresses } from "../words.js";
import { ActivityScreen } from "./activity.js";
import { WaitingList } from "./waiting_list.js";

const PAGE = 50;
const EVERY_MS = 3000;

const COLUMNS = [
  { title: "Activity", cell: (/** @type {any} */ activity) => withShortAddresses(headlineOf(activity)) },
  { title: "Status", cell: (/** @type {any} */ activity) => html`<${Status} status=${activity.status} />`, tight: true },
  { title: "Asked by", cell: (/** @type {any} */ activity) => askedBy(activity)?.userName ?? "" },
  { title: "When", cell: (/** @type {any} */ activity) => html`<${Time} ms=${msOf(activity.createdAt)} />`, tight: true },
];
const hrefOf = (/** @type {any} */ activity) => to(["activities", activity.id]);
const idOf = (/** @type {any} */ activity) => activity.id;

export function ActivitiesScreen() {
  const [, id] = place.value.parts;
  return id ? html`<${ActivityScreen} key=${id} id=${id} />` : html`<${ActivityLists} />`;
}

function ActivityLists() {
  return html`<${Heading} title="Activities" note="Every change that somebody asked for, and every signature." />
    <${WaitingList} columns=${COLUMNS} />
    <${AllActivities} />`;
}

function AllActivities() {
  const status = place.value.parameters.get("status") ?? "";
  const type = place.value.parameters.get("type") ?? "";
  const sought = place.value.parameters.get("search") ?? "";
  const list = useActivities(status, type);
  useEffect(() => void describe(list.activities), [list.activities]);
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = useMemo(() => list.activities.filter((activity) => {
    const text = `${headlineOf(activity)} ${askedBy(activity)?.userName ?? ""} ${activity.id} ${JSON.stringify(activity.intent)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }), [list.activities, sought]);
  const changed = (/** @type {string} */ name) => (/** @type {any} */ event) => refine({ [name]: event.target.value });
  return html`<section class="card">
    <header><h2>All activities</h2>
      <div class="filters">
        <select class="input" aria-label="Status" value=${status} onChange=${changed("status")}>
          <option value="">Any status</option>
          ${ALL_STATUSES.map((each) => html`<option value=${each}>${statusInWords(each).text}</option>`)}
        </select>
        <${TypeFilter} type=${type} onChange=${changed("type")} />
        <input class="input grow" type="search" placeholder="Search what is shown" aria-label="Search the activities shown" value=${sought} onInput=${changed("search")} />
      </div></header>
    ${list.error ? html`<div class="body"><${Notice} kind="bad">${messageOf(list.error)}<//></div>` : null}
    ${list.isLoading && !list.activities.length ? html`<div class="loading" role="status">Loading…</div>`
      : found.length ? html`<${Table} caption="Activities" columns=${COLUMNS} rows=${found} href=${hrefOf} idOf=${idOf} />`
      : html`<${Empty} title=${list.activities.length ? "Nothing found" : "No activities"}>
          ${list.activities.length ? "None of the activities shown contains these words." : html`Nothing of this kind has been asked for yet.${document.documentElement.dataset.mode === "dev" ? html` To see one that waits for you, open <a href="#/development/server">Try an approval</a>.` : null}`}<//>`}
    ${list.hasMore ? html`<div class="more"><button type="button" class="button" disabled=${list.isLoading} onClick=${list.loadMore}>
      ${list.isLoading ? "Loading…" : "Show older activities"}</button></div>` : null}
  </section>`;
}

/** @param {{type: string, onChange: (event: Event) => void}} properties */
function TypeFilter({ type, onChange }) {
  const [types, setTypes] = useState(/** @type {string[]} */ ([]));
  useEffect(() => {
    import("../api/catalogue.js").then(({ operations }) => operations())
      .then((all) => setTypes(all.flatMap((operation) => operation.activityType ? [operation.activityType] : [])), () => setTypes([]));
  }, []);
  const all = type && !types.includes(type) ? [type, ...types] : types;
  return html`<select class="input" aria-label="Type" value=${type} onChange=${onChange}>
    <option value="">Any type</option>
    ${[...all].sort((one, other) => typeInWords(one).localeCompare(typeInWords(other))).map((each) => html`<option value=${each}>${typeInWords(each)}</option>`)}
  </select>`;
}

/** The activities of a filter: the newest page, asked again every few seconds, and the older pages that were asked for. */
/** @param {string} status @param {string} type */
function useActivities(status, type) {
  const [state, setState] = useState(/** @type {{activities: any[], hasMore: boolean, isLoading: boolean, error: unknown}} */ (
    { activities: [], hasMore: false, isLoading: true, error: null }));
  const page = async (/** @type {string | undefined} */ after) => {
    const answer = await query("list_activities", {
      ...(status ? { filterByStatus: [status] } : {}),
      ...(type ? { filterByType: [type] } : {}),
      paginationOptions: { limit: String(PAGE), ...(after ? { after } : {}) },
    });
    return answer.activities;
  };
  const guarded = async (/** @type {() => Promise<void>} */ act) => {
    try {
      await act();
    } catch (error) {
      setState((before) => ({ ...before, isLoading: false, error }));
    }
  };
  const refresh = () => guarded(async () => {
    const newest = await page(undefined);
    setState((before) => ({ ...before, error: null, isLoading: false, ...merged(before, newest) }));
  });
  const loadMore = () => guarded(async () => {
    setState((before) => ({ ...before, isLoading: true }));
    const older = await page(state.activities.at(-1)?.id);
    setState((before) => ({ activities: [...before.activities, ...older], hasMore: isFull(older), isLoading: false, error: null }));
  });
  useEffect(() => {
    setState({ activities: [], hasMore: false, isLoading: true, error: null });
    refresh();
  }, [status, type]);
  useRepeated(refresh, EVERY_MS, [status, type]);
  return { ...state, loadMore };
}

/** A new first page over what was there: records that changed are replaced, new ones come first. */
/** @param {{activities: any[], hasMore: boolean}} before @param {any[]} newest */
function merged(before, newest) {
  const reaches = newest.some((activity) => activity.id === before.activities[0]?.id);
  if (!reaches) return { activities: newest, hasMore: isFull(newest) };
  const oldest = newest.at(-1)?.id;
  const older = before.activities.filter((activity) => activity.id < oldest);
  return { activities: [...newest, ...older], hasMore: before.hasMore };
}

/** Whether a page ends by its number or its size, and not because there are no more. @param {any[]} activities */
function isFull(activities) {
  return activities.length === PAGE || JSON.stringify(activities).length > 500_000;
}
