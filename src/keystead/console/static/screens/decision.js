// What the policies said of an activity: each policy with its clauses, true, false, failed or not yet met.
import { html } from "../vendor/preact.js";
import { listed, query } from "../api/calls.js";
import { painted } from "../parts/expression_editor.js";
import { Icon } from "../parts/icons.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Card, Time } from "../parts/texts.js";
import { to } from "../router.js";
import { descriptionOf } from "../api/descriptions.js";
import { WAITING, msOf, valueInWords } from "../words.js";

/** @type {Record<string, [import("../parts/icons.js").IconName, string, string]>} icon, kind, words */
const OUTCOMES = {
  OUTCOME_ALLOW: ["done", "good", "allows it"],
  OUTCOME_DENY_EXPLICIT: ["cross", "bad", "denies it"],
  OUTCOME_DENY_IMPLICIT: ["info", "", "does not apply"],
  OUTCOME_REQUIRES_CONSENSUS: ["warn", "warn", "allows it once more users approve"],
  OUTCOME_REQUIRES_AUTHENTICATORS: ["warn", "warn", "allows it after further proofs"],
  OUTCOME_REJECTED: ["cross", "bad", "could have allowed it, without the rejection"],
  OUTCOME_TIME_INACTIVE: ["info", "", "would apply at another time"],
  OUTCOME_ERROR: ["warn", "bad", "failed"],
};
const CLAUSES = /** @type {const} */ (["condition", "consensus", "time"]);

/** @param {{activity: any, names: Map<string, import("../api/directory.js").Named>}} properties */
export function DecisionCard({ activity, names }) {
  const key = `${activity.id} ${activity.votes.length} ${activity.status}`;
  const decision = useLoaded(async () => {
    const [{ policyEvaluations }, { policies }] = await Promise.all([
      query("get_policy_evaluations", { activityId: activity.id }), listed("list_policies")]);
    const byId = new Map(policies.map((/** @type {any} */ policy) => [policy.policyId, policy]));
    return { latest: policyEvaluations.at(-1), count: policyEvaluations.length, byId };
  }, [key]);
  return html`<${Card} title="Why"><${Loaded} of=${decision}>${(/** @type {any} */ { latest, byId }) => html`
    <p><b>${verdictInWords(latest)}</b><br /><span class="muted">Decided <${Time} ms=${msOf(latest.createdAt)} />, with the last vote.</span></p>
    <${Missing} activity=${activity} names=${names} />
    ${activity.status === "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED" ? html`<${MissingProofs} key=${key} activity=${activity} names=${names} />` : null}
    ${latest.policyEvaluations.length ? html`<ul class="tree">${sorted(latest).map((each) => html`
      <${PolicyOutcome} key=${each.policyId} evaluation=${each} policy=${byId.get(each.policyId)} decides=${latest.policyIds.includes(each.policyId)} since=${msOf(latest.createdAt)} />`)}</ul>`
      : html`<p class="muted">No policy was asked.</p>`}`}<//><//>`;
}

/** Whose approvals would let it happen. @param {{activity: any, names: Map<string, import("../api/directory.js").Named>}} properties */
function Missing({ activity, names }) {
  const ways = WAITING.includes(activity.status) ? descriptionOf(activity.id)?.missingApprovals ?? [] : [];
  if (!ways.length) return null;
  const people = (/** @type {string[]} */ ids) => ids.map((id, index) => html`${index ? ", " : ""}<a href=${to(["users", id])}>${names.get(id)?.name ?? id}</a>`);
  return html`<div class="missing prose"><h3>Still missing</h3><ul class="stack tight">${ways.map(({ policyId, userIds, count }, index) => html`<li>${index ? "or " : ""}
    ${policyId ? html`approvals that “${names.get(policyId)?.name ?? policyId}” counts, of ${people(userIds)}` : html`${count} of the root quorum: ${people(userIds)}`}</li>`)}</ul></div>`;
}

/** With what the voters must approve once more, by their MFA policies. @param {{activity: any, names: Map<string, import("../api/directory.js").Named>}} properties */
function MissingProofs({ activity, names }) {
  const statuses = useLoaded(async () => (await query("get_mfa_status", { activityId: activity.id })).mfaStatuses, [activity.id]);
  const words = (/** @type {any} */ method) => valueInWords(method.type, "AUTHENTICATION_TYPE_").toLowerCase();
  return html`<${Loaded} of=${statuses}>${(/** @type {any[]} */ all) => html`<div class="missing prose"><h3>Proofs still missing</h3><ul class="stack tight">
    ${all.filter((each) => !each.satisfied).map((each) => html`<li><a href=${to(["users", each.userId])}>${names.get(each.userId)?.name ?? each.userId}</a> approves with each of:
      ${" "}${each.requiredMethods.map((/** @type {any} */ step) => step.any.map(words).join(" or ")).join("; ")}${each.satisfiedMethods.length ? `. Given so far: ${each.satisfiedMethods.map(words).join(", ")}` : ""}</li>`)}
  </ul></div>`}<//>`;
}

/** "deny: nothing allows it" and its rule, as one sentence. @param {any} evaluation */
function verdictInWords({ verdict, rule }) {
  const word = verdict.split(":")[0];
  const sentence = { allow: "Allowed", deny: "Denied", "needs consensus": "Waits" }[/** @type {string} */ (word)] ?? word;
  return `${sentence}: ${rule}.`;
}

/** Those that decide first. @param {any} evaluation @returns {any[]} */
function sorted({ policyEvaluations, policyIds }) {
  return [...policyEvaluations].sort((one, other) => Number(policyIds.includes(other.policyId)) - Number(policyIds.includes(one.policyId)));
}

/** @param {{evaluation: any, policy: any, decides: boolean, since: number}} properties */
function PolicyOutcome({ evaluation, policy, decides, since }) {
  const [icon, kind, words] = OUTCOMES[evaluation.outcome] ?? ["info", "", evaluation.outcome];
  const isChanged = policy && msOf(policy.updatedAt) > since;
  return html`<li><details open=${decides || undefined}>
    <summary><span class=${`mark ${kind}`}><${Icon} name=${icon} /></span>
      <span><b>${policy?.policyName ?? "A policy that was deleted since"}</b> ${words}${decides ? html` <span class="badge plain accent">decides</span>` : null}</span></summary>
    <div class="inner">
      ${policy ? html`${CLAUSES.filter((clause) => policy[clause]).map((clause) => html`<${Clause} clause=${clause} text=${policy[clause]} evaluation=${evaluation} />`)}
        ${CLAUSES.some((clause) => policy[clause]) ? null : html`<p class="muted small">It has no clause: it always applies.</p>`}
        ${isChanged ? html`<p class="small muted">The policy was changed since; its clauses above are those of today.</p>` : null}
        <a class="small" href=${to(["policies", policy.policyId])}>Open the policy</a>` : null}
    </div></details></li>`;
}

/** @param {{clause: string, text: string, evaluation: any}} properties */
function Clause({ clause, text, evaluation }) {
  const [kind, words] = clauseState(clause, evaluation);
  return html`<div class="clause"><div class="row small"><span class="muted">${clause}</span><span class=${`badge ${kind}`}>${words}</span></div>
    <pre class="code wrap">${painted(text, undefined)}</pre>
    ${evaluation.clause === clause && evaluation.reason ? html`<p class="small problem">${evaluation.reason}</p>` : null}</div>`;
}

/** Where one clause decides, the record does not say what the others were. @param {string} clause @param {any} evaluation */
function clauseState(clause, { outcome, clause: deciding }) {
  if (outcome === "OUTCOME_ALLOW" || outcome === "OUTCOME_DENY_EXPLICIT") return ["good", "true"];
  if (deciding === clause) {
    if (outcome === "OUTCOME_ERROR") return ["bad", "failed"];
    if (outcome === "OUTCOME_REQUIRES_CONSENSUS") return ["warn", "not enough approvals yet"];
    return ["", "false"];
  }
  if (outcome === "OUTCOME_REQUIRES_CONSENSUS" && clause !== "consensus") return ["good", "true"];
  return ["", "not recorded"];
}
