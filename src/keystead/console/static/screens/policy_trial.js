// What a policy that is being written would have said of the newest activities.
import { html, useState } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { Notice, messageOf } from "../parts/notice.js";
import { to } from "../router.js";
import { counted } from "../words.js";

const TRIED = 50;

/** The outcomes of a policy that applies: their words and kind of badge. */
/** @type {Record<string, [string, string]>} */
const OUTCOMES = {
  OUTCOME_ALLOW: ["allows it", "good"],
  OUTCOME_DENY_EXPLICIT: ["denies it", "bad"],
  OUTCOME_REQUIRES_CONSENSUS: ["waits for approvals", "warn"],
};

/** @param {{draft: {effect: string, condition: string, consensus: string, time: string}, isReadable: boolean}} properties */
export function PolicyTrial({ draft, isReadable }) {
  const [tried, setTried] = useState(/** @type {{activities: any[], outcomes: Map<string, any>, of: string} | null} */ (null));
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const { effect, condition, consensus, time } = draft;
  const of = JSON.stringify([effect, condition, consensus, time]);
  const run = async () => {
    setBusy(true);
    setProblem("");
    try {
      const { activities } = await query("list_activities", { paginationOptions: { limit: String(TRIED) } });
      const answer = activities.length ? await query("try_policy", { effect, condition, consensus, time, activityIds: activities.map((/** @type {any} */ each) => each.id) }) : { triedActivities: [] };
      setTried({ activities, outcomes: new Map(answer.triedActivities.map((/** @type {any} */ each) => [each.activityId, each])), of });
      describe(activities);
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  const shown = tried?.activities.filter((each) => tried.outcomes.get(each.id)?.outcome in OUTCOMES) ?? [];
  return html`<div class="body">
    <p class="muted">What it would have said of the newest ${TRIED} activities. The other policies and the root quorum are left aside.</p>
    <div><button type="button" class="button" disabled=${isBusy || !isReadable} onClick=${run}>${isBusy ? "Trying…" : "Try it"}</button></div>
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
    ${tried && tried.of !== of ? html`<${Notice}>The policy has changed since: try it again.<//>` : null}
    ${tried ? html`<p>It applies to ${counted(shown.length, "activity", "activities")} of ${tried.activities.length}.</p>
      <ul class="stack tight">${shown.map((activity) => {
        const [words, kind] = OUTCOMES[tried.outcomes.get(activity.id).outcome];
        return html`<li key=${activity.id}><span class=${`badge ${kind}`}>${words}</span> <a class="wrap" href=${to(["activities", activity.id])}>${headlineOf(activity)}</a></li>`;
      })}</ul>` : null}
  </div>`;
}
