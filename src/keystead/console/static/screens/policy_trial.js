// What a policy that is being written would have said of recorded activities, and what would have been decided.
import { html, useEffect, useState } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { Notice, messageOf } from "../parts/notice.js";
import { Time } from "../parts/texts.js";
import { to } from "../router.js";
import { counted, msOf, withShortAddresses } from "../words.js";
import { decisionInWords } from "./decision.js";

const AT_ONCE = 50;
const DAY_MS = 86_400_000;
/** The activities that it is tried on: at most `most` of them, and none from before `fromMs`. @type {{words: string, most: number, fromMs: () => number}[]} */
const REACHES = [
  { words: "Newest 50", most: 50, fromMs: () => -Infinity },
  { words: "Newest 200", most: 200, fromMs: () => -Infinity },
  { words: "Newest 1,000", most: 1000, fromMs: () => -Infinity },
  { words: "Last 24 hours", most: 5000, fromMs: () => Date.now() - DAY_MS },
  { words: "Since yesterday", most: 5000, fromMs: () => new Date().setHours(-24, 0, 0, 0) },
  { words: "Last 7 days", most: 5000, fromMs: () => Date.now() - 7 * DAY_MS },
];
const SHOWN_MAX = 50;

/** The outcomes of a policy that applies: their words and kind of badge. */
/** @type {Record<string, [string, string]>} */
const OUTCOMES = {
  OUTCOME_ALLOW: ["allows it", "good"],
  OUTCOME_DENY_EXPLICIT: ["denies it", "bad"],
  OUTCOME_REQUIRES_CONSENSUS: ["waits for approvals", "warn"],
};

/** @typedef {{activities: any[], outcomes: Map<string, any>, of: string}} Trial */

/** @param {{draft: {effect: string, condition: string, consensus: string, time: string}, policyId?: string, isReadable: boolean}} properties `policyId`: which it replaces */
export function PolicyTrial({ draft, policyId, isReadable }) {
  const [tried, setTried] = useState(/** @type {Trial | null} */ (null));
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [reach, setReach] = useState(0);
  const { effect, condition, consensus, time } = draft;
  const of = JSON.stringify([effect, condition, consensus, time]);
  const run = async () => {
    setBusy(true);
    setProblem("");
    try {
      setTried({ ...(await trial({ effect, condition, consensus, time, ...(policyId ? { policyId } : {}) }, REACHES[reach])), of });
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return html`<div class="body">
    <p class="muted">Shows how recorded activities would have been decided ${policyId ? "with this version of the policy" : "with this policy added"} and the same votes.</p>
    <div class="row"><select class="input narrow" aria-label="On how many activities" value=${reach} onChange=${(/** @type {any} */ event) => setReach(Number(event.target.value))}>
      ${REACHES.map(({ words }, index) => html`<option value=${index}>${words}</option>`)}</select>
      <button type="button" class="button" disabled=${isBusy || !isReadable} onClick=${run}>${isBusy ? "Trying…" : "Try it"}</button></div>
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
    ${tried && tried.of !== of ? html`<${Notice}>You changed the policy after this trial: try it again.<//>` : null}
    ${tried ? html`<${Tried} tried=${tried} />` : null}
  </div>`;
}

/** @param {Record<string, unknown>} policy @param {(typeof REACHES)[0]} reach @returns {Promise<{activities: any[], outcomes: Map<string, any>}>} */
async function trial(policy, { most, fromMs }) {
  const oldestMs = fromMs();
  /** @type {any[]} */
  const activities = [];
  /** @type {Map<string, any>} */
  const outcomes = new Map();
  while (activities.length < most) {
    const after = activities.at(-1)?.id;
    const listed = (await query("list_activities", { paginationOptions: { limit: String(AT_ONCE), ...(after ? { after } : {}) } })).activities;
    const page = listed.filter((/** @type {any} */ each) => msOf(each.createdAt) >= oldestMs);
    if (!page.length) break;
    activities.push(...page);
    for (let ids = page.map((/** @type {any} */ each) => each.id); ids.length; ids = ids.filter((/** @type {string} */ id) => !outcomes.has(id))) {
      const { triedActivities } = await query("try_policy", { ...policy, activityIds: ids });
      for (const each of triedActivities) outcomes.set(each.activityId, each);
    }
  }
  return { activities, outcomes };
}

/** @param {{tried: Trial}} properties */
function Tried({ tried }) {
  const { activities, outcomes } = tried;
  const changed = activities.filter(({ id }) => outcomes.get(id).verdict !== outcomes.get(id).savedVerdict);
  const applies = activities.filter(({ id }) => outcomes.get(id).outcome in OUTCOMES);
  const same = applies.filter((each) => !changed.includes(each));
  useEffect(() => void describe([...changed.slice(0, SHOWN_MAX), ...same.slice(0, SHOWN_MAX)]), [tried]);
  const oldest = activities.at(-1);
  return html`<p>It applies to ${counted(applies.length, "activity", "activities")} of ${activities.length.toLocaleString("en")}, and changes ${changed.length ? html`<b>${counted(changed.length, "decision")}</b>` : "no decision"}.
      ${oldest ? html`<span class="muted"> The oldest is of <${Time} ms=${msOf(oldest.createdAt)} exact />.</span>` : null}</p>
    ${changed.length ? html`<h3>Different decision</h3><${Results} activities=${changed} words=${(/** @type {any} */ { id }) => html`<${Change} outcome=${outcomes.get(id)} />`} />` : null}
    ${same.length ? html`<h3>Same decision</h3><${Results} activities=${same} words=${(/** @type {any} */ { id }) => {
      const [words, kind] = OUTCOMES[outcomes.get(id).outcome];
      return html`<span class=${`badge ${kind}`}>${words}</span>`;
    }} />` : null}`;
}

/** @param {{outcome: any}} properties */
function Change({ outcome }) {
  const kind = { allow: "good", deny: "bad" }[/** @type {string} */ (outcome.verdict)] ?? "warn";
  return html`<span class="row change"><s class="muted small">${decisionInWords(outcome.savedVerdict)}</s><span class=${`badge ${kind}`}>${decisionInWords(outcome.verdict)}</span></span>`;
}

/** @param {{activities: any[], words: (activity: any) => any}} properties */
function Results({ activities, words }) {
  return html`<ul class="results">${activities.slice(0, SHOWN_MAX).map((activity) => html`<li key=${activity.id}>${words(activity)}
      <a class="wrap" href=${to(["activities", activity.id])}>${withShortAddresses(headlineOf(activity))}</a> <span class="muted small"><${Time} ms=${msOf(activity.createdAt)} /></span></li>`)}</ul>
    ${activities.length > SHOWN_MAX ? html`<p class="small muted">and ${activities.length - SHOWN_MAX} more</p>` : null}`;
}
