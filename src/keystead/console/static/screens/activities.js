// Activities: those that wait for the person first, then all of them, with filters, page by page.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { OF_OPERATOR, operations } from "../api/catalogue.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { askerName } from "../api/summary.js";
import { waiting } from "../api/waiting.js";
import { useRepeated } from "../parts/loaded.js";
import { NotifyButton } from "../parts/notifications.js";
import { Notice, messageOf } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { Empty, Heading, Status, Time } from "../parts/texts.js";
import { place, refine, to } from "../router.js";
import { ALL_STATUSES, msOf, statusInWords, typeInWords, withShortAddresses } from "../words.js";
import { ActivityScreen } from "./activity.js";
import { RefusedList } from "./refused_list.js";
import { WaitingList } from "./waiting_list.js";

const ID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;
const PAGE = 50;
const EVERY_MS = 3000;

const COLUMNS = [
  { title: "Activity", cell: (/** @type {any} */ activity) => withShortAddresses(headlineOf(activity)) },
  { title: "Status", cell: (/** @type {any} */ activity) => html`<${Status} status=${activity.status} />`, width: "status-column" },
  { title: "Submitted by", cell: (/** @type {any} */ activity) => askerName(activity), width: "who-column" },
  { title: "When", cell: (/** @type {any} */ activity) => html`<${Time} ms=${msOf(activity.createdAt)} />`, width: "when-column" },
];
const hrefOf = (/** @type {any} */ activity) => to(["activities", activity.id]);
const idOf = (/** @type {any} */ activity) => activity.id;

export function ActivitiesScreen() {
  const [, id] = place.value.parts;
  if (id === "refused") return html`<${RefusedList} />`;
  return id ? html`<${ActivityScreen} key=${id} id=${id} />` : html`<${ActivityLists} />`;
}

/** Those that wait for the person stand above, and not in the list again, unless that is filtered. */
function ActivityLists() {
  const isFiltered = ["status", "type", "search"].some((name) => place.value.parameters.get(name));
  const mine = isFiltered ? [] : (waiting.value ?? []).filter((activity) => activity.canApprove).map(({ id }) => id);
  return html`<${Heading} title="Activities" note="Every change and every signature that somebody submitted.">
      <${NotifyButton} /><a class="button" href="#/activities/refused">Refused requests</a><//>
    ${isFiltered ? null : html`<${WaitingList} columns=${COLUMNS} />`}
    <${AllActivities} above=${mine} />`;
}

/** @param {{above: string[]}} properties `above`: the ids of those that are shown above */
function AllActivities({ above }) {
  const status = place.value.parameters.get("status") ?? "";
  const type = place.value.parameters.get("type") ?? "";
  const sought = place.value.parameters.get("search") ?? "";
  const list = useActivities(status, type);
  useEffect(() => void describe(list.activities), [list.activities]);
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = useMemo(() => list.activities.filter(({ id }) => !above.includes(id)), [list.activities, above.join()]);
  const found = useMemo(() => (words.length ? list.activities.filter((activity) => {
    const text = `${headlineOf(activity)} ${askerName(activity)} ${activity.id} ${JSON.stringify(activity.intent)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }) : shown), [shown, list.activities, sought]);
  const changed = (/** @type {string} */ name) => (/** @type {any} */ event) => refine({ [name]: event.target.value });
  return html`<section class="card">
    <header><h2>${above.length ? "Other activities" : "All activities"}</h2>
      <div class="filters">
        <select class="input" aria-label="Status" value=${status} onChange=${changed("status")}>
          <option value="">Any status</option>
          ${ALL_STATUSES.map((each) => html`<option value=${each}>${statusInWords(each).text}</option>`)}
        </select>
        <${TypeFilter} type=${type} onChange=${changed("type")} />
        <input class="input grow" type="search" placeholder="Search" aria-label="Search the activities shown" value=${sought} onInput=${changed("search")} />
      </div></header>
    ${ID.test(sought.trim()) ? html`<p class="body"><a href=${to(["activities", sought.trim()])}>Open the activity, or the refused request, of this id</a></p>` : null}
    ${list.error ? html`<div class="body"><${Notice} kind="bad">${messageOf(list.error)}<//></div>` : null}
    ${list.isLoading && !list.activities.length ? html`<div class="loading" role="status">Loading…</div>`
      : found.length ? html`<${Table} caption="Activities" isPage columns=${COLUMNS} rows=${found} href=${hrefOf} idOf=${idOf} />`
      : html`<${Empty} title=${above.length && !words.length ? "Nothing else" : list.activities.length ? "Nothing found" : "No activities"}>
          ${above.length && !words.length ? "All that was submitted so far waits for you." : list.activities.length ? "No activity in this list contains these words." : html`There is no activity of this kind yet.${document.documentElement.dataset.mode === "dev" ? html` To see one that waits for you, open <a href="#/development/server">Try an approval</a>.` : null}`}<//>`}
    ${list.hasMore ? html`<div class="more"><button type="button" class="button" disabled=${list.isLoading} onClick=${list.loadMore}>
      ${list.isLoading ? "Loading…" : "Show older activities"}</button></div>` : null}
  </section>`;
}

/** @param {{type: string, onChange: (event: Event) => void}} properties */
function TypeFilter({ type, onChange }) {
  const [types, setTypes] = useState(/** @type {string[]} */ ([]));
  useEffect(() => {
    operations().then((all) => setTypes([...all.map(({ activityType }) => activityType), ...OF_OPERATOR]), () => setTypes([]));
  }, []);
  const all = type && !types.includes(type) ? [type, ...types] : types;
  return html`<select class="input" aria-label="Type" value=${type} onChange=${onChange}>
    <option value="">Any type</option>
    ${[...all].sort((one, other) => typeInWords(one).localeCompare(typeInWords(other))).map((each) => html`<option value=${each}>${typeInWords(each)}</option>`)}
  </select>`;
}

/** All versions of an activity's type. @param {string} type */
async function versionsOf(type) {
  return (await operations()).find(({ activityTypes }) => activityTypes.includes(type))?.activityTypes ?? [type];
}

/** The activities of a filter: the newest page, asked again every few seconds, and the older pages that were asked for. */
/** @param {string} status @param {string} type */
function useActivities(status, type) {
  const [state, setState] = useState(/** @type {{activities: any[], hasMore: boolean, isLoading: boolean, error: unknown}} */ (
    { activities: [], hasMore: false, isLoading: true, error: null }));
  const page = async (/** @type {string | undefined} */ after) => {
    const answer = await query("list_activities", {
      ...(status ? { filterByStatus: [status] } : {}),
      ...(type ? { filterByType: await versionsOf(type) } : {}),
      paginationOptions: { limit: String(PAGE), ...(after ? { after } : {}) },
    });
    return answer.activities;
  };
  const shown = useRef("");
  shown.current = `${status} ${type}`;
  /** Sets the state, unless the filter has changed since: an answer that comes late is of another list. */
  const stillShown = () => {
    const asked = shown.current;
    return (/** @type {Parameters<typeof setState>[0]} */ change) => void (asked === shown.current && setState(change));
  };
  const guarded = async (/** @type {(set: ReturnType<typeof stillShown>) => Promise<void>} */ act) => {
    const set = stillShown();
    try {
      await act(set);
    } catch (error) {
      set((before) => ({ ...before, isLoading: false, error }));
    }
  };
  const refresh = () => guarded(async (set) => {
    const newest = await page(undefined);
    set((before) => {
      const { activities, hasMore } = merged(before, newest);
      const isOld = activities === before.activities && !before.error && !before.isLoading;
      return isOld ? before : { activities, hasMore, error: null, isLoading: false };
    });
  });
  const loadMore = () => guarded(async (set) => {
    set((before) => ({ ...before, isLoading: true }));
    const older = await page(state.activities.at(-1)?.id);
    set((before) => ({ activities: [...before.activities, ...older], hasMore: isFull(older), isLoading: false, error: null }));
  });
  useEffect(() => {
    setState({ activities: [], hasMore: false, isLoading: true, error: null });
    refresh();
  }, [status, type]);
  useRepeated(refresh, EVERY_MS, [status, type]);
  return { ...state, loadMore };
}

/** A new first page over what was there: records that changed are replaced, new ones come first. The same where nothing is new. */
/** @param {{activities: any[], hasMore: boolean}} before @param {any[]} newest */
function merged(before, newest) {
  const known = new Map(before.activities.map((activity) => [activity.id, activity]));
  if (!newest.some(({ id }) => id === before.activities[0]?.id)) return { activities: newest, hasMore: isFull(newest) };
  const page = newest.map((activity) => (isSame(activity, known.get(activity.id)) ? known.get(activity.id) : activity));
  if (page.every((activity, index) => activity === before.activities[index])) return before;
  const oldest = newest.at(-1)?.id;
  return { activities: [...page, ...before.activities.filter((activity) => activity.id < oldest)], hasMore: before.hasMore };
}

/** @param {any} activity @param {any} other as it was before */
function isSame(activity, other) {
  return other && JSON.stringify(activity) === JSON.stringify(other);
}

/** Whether a page ends by its number or its size, and not because there are no more. @param {any[]} activities */
function isFull(activities) {
  return activities.length === PAGE || JSON.stringify(activities).length > 500_000;
}
