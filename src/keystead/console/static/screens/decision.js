// What the policies said of an activity: the decision on record, and each policy with its clauses part by part.
import { html, useState } from "../vendor/preact.js";
import { listed, query } from "../api/calls.js";
import { Icon } from "../parts/icons.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Card, Time } from "../parts/texts.js";
import { to } from "../router.js";
import { descriptionOf } from "../api/descriptions.js";
import { WAITING, msOf, valueInWords } from "../words.js";
import { ClauseParts } from "./clause_parts.js";

/** @type {Record<string, [import("../parts/icons.js").IconName, string, string]>} icon, kind, words */
const OUTCOMES = {
  OUTCOME_ALLOW: ["done", "good", "allows it"],
  OUTCOME_DENY_EXPLICIT: ["cross", "bad", "denies it"],
  OUTCOME_DENY_IMPLICIT: ["info", "", "does not apply"],
  OUTCOME_REQUIRES_CONSENSUS: ["warn", "warn", "allows it once more people approve"],
  OUTCOME_REQUIRES_AUTHENTICATORS: ["warn", "warn", "allows it after further proofs"],
  OUTCOME_REJECTED: ["cross", "bad", "could have allowed it, without the rejection"],
  OUTCOME_TIME_INACTIVE: ["info", "", "would apply at another time"],
  OUTCOME_ERROR: ["info", "", "does not apply"],
};

/** @param {{activity: any, names: Map<string, import("../api/directory.js").Named>}} properties */
export function DecisionCard({ activity, names }) {
  const state = `${activity.id} ${activity.votes.length} ${activity.status}`;
  const decision = useLoaded(() => decisionOn(activity.id), [state]);
  return html`<${Card} title="Why"><${Loaded} of=${decision}>${(/** @type {Decision} */ { latest, byId }) => html`
    <p><b>${verdictInWords(latest)}</b><br /><span class="muted">Decided <${Time} ms=${msOf(latest.createdAt)} />${occasion(activity)}.</span></p>
    <${Missing} activity=${activity} names=${names} />
    ${activity.status === "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED" ? html`<${MissingProofs} key=${state} activity=${activity} names=${names} />` : null}
    <${Outcomes} latest=${latest} byId=${byId} explained=${(/** @type {string} */ policyId) => html`<${ClauseParts} activityId=${activity.id} policyId=${policyId} state=${state} isOpen=${WAITING.includes(activity.status)} names=${names} />`} />`}<//><//>`;
}

/** @typedef {{latest: any, byId: Map<string, any>}} Decision `byId`: the policies of today */

/** The last decision on an activity, or on a request that was refused and left none. @param {string} activityId @returns {Promise<Decision>} */
export async function decisionOn(activityId) {
  const [{ policyEvaluations }, { policies }] = await Promise.all([query("get_policy_evaluations", { activityId }), listed("list_policies")]);
  return { latest: policyEvaluations.at(-1), byId: new Map(policies.map((/** @type {any} */ policy) => [policy.policyId, policy])) };
}

/**
 * What each policy said, those that decided first. `explained`: its clauses part by part, where the request is on record.
 * @param {{latest: any, byId: Map<string, any>, explained?: (policyId: string) => any}} properties
 */
export function Outcomes({ latest, byId, explained }) {
  if (!latest.policyEvaluations.length) return html`<p class="muted">No policy was evaluated.</p>`;
  return html`<ul class="tree">${sorted(latest).map((each) => html`<${PolicyOutcome} key=${each.policyId} evaluation=${each} policy=${byId.get(each.policyId)}
    decides=${latest.policyIds.includes(each.policyId)} since=${msOf(latest.createdAt)} explained=${explained} />`)}</ul>`;
}

/** Whose approvals would let it happen. @param {{activity: any, names: Map<string, import("../api/directory.js").Named>}} properties */
function Missing({ activity, names }) {
  const ways = WAITING.includes(activity.status) ? descriptionOf(activity.id)?.missingApprovals ?? [] : [];
  if (!ways.length) return null;
  return html`<div class="missing prose"><h3>Still missing</h3><ul class="stack tight">${ways.map(({ policyId, userIds, count, requiredUserIds }, index) => html`<li>${index ? "or " : ""}
    ${policyId ? html`<${Whose} ids=${userIds} count=${count} required=${requiredUserIds ?? []} names=${names} />, as “${names.get(policyId)?.name ?? "a policy that was deleted"}” asks` : html`${count} of the root quorum: <${People} ids=${userIds} names=${names} />`}</li>`)}</ul></div>`;
}

/** "2 of A, B, C"; "A, and 1 of B, C"; "the approvals of A and B". `count`: absent if no number describes it. */
/** @param {{ids: string[], count?: number, required: string[], names: Map<string, import("../api/directory.js").Named>}} properties */
function Whose({ ids, count, required, names }) {
  if (count === undefined || count === null) return html`approvals of some of <${People} ids=${ids} names=${names} />`;
  if (count === ids.length) return html`the ${count === 1 ? "approval" : "approvals"} of <${People} ids=${ids} names=${names} last="and" />`;
  const others = ids.filter((id) => !required.includes(id));
  return html`${required.length ? html`<${People} ids=${required} names=${names} />, and ` : null}${count - required.length} of <${People} ids=${others} names=${names} />`;
}

/** @param {{ids: string[], names: Map<string, import("../api/directory.js").Named>, last?: string}} properties `last`: the word before the last */
function People({ ids, names, last = "" }) {
  return ids.map((id, index) => html`${index ? (last && index === ids.length - 1 ? ` ${last} ` : ", ") : ""}<a href=${to(["users", id])}>${names.get(id)?.name ?? "a user who was deleted"}</a>`);
}

/** What led to the decision: the last vote. @param {any} activity */
function occasion({ votes }) {
  const last = [...votes].sort((one, other) => msOf(one.createdAt) - msOf(other.createdAt)).at(-1);
  if (!last) return "";
  return ` when ${last.user.userName} ${votes.length === 1 ? "submitted it" : last.selection === "VOTE_SELECTION_REJECTED" ? "rejected it" : "approved it"}`;
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

/** The rules that decide, as people say them. @type {Record<string, string>} */
const RULES = {
  "enough members of the root quorum approve": "enough members of the root quorum approved",
  "a policy denies": "a policy denies it",
  "a policy allows": "a policy allows it",
  "a policy allows once more users approve": "more people must approve",
  "users may change their own credentials": "everybody may change their own credentials and sessions",
  "a member of the root quorum waits for the others": "more members of the root quorum must approve",
  "raw payloads are refused because policies restrict transactions": "policies restrict transactions, so only whole transactions are signed",
  "the session's profile does not cover it": "the profile of the session does not cover it",
  "the policies cost more than a decision may": "the policies take too long to evaluate",
};

/** "deny: nothing allows it" and its rule, as one sentence. @param {any} evaluation */
export function verdictInWords({ verdict, rule }) {
  return `${decisionInWords(verdict)}: ${RULES[rule] ?? rule}.`;
}

/** @param {string} verdict such as `deny` or `deny: nothing allows it` */
export function decisionInWords(verdict) {
  const word = verdict.split(":")[0];
  return { allow: "Allowed", deny: "Denied", "needs consensus": "Waits" }[/** @type {string} */ (word)] ?? word;
}

/** Those that decide first. @param {any} evaluation @returns {any[]} */
function sorted({ policyEvaluations, policyIds }) {
  return [...policyEvaluations].sort((one, other) => Number(policyIds.includes(other.policyId)) - Number(policyIds.includes(one.policyId)));
}

/** @param {{evaluation: any, policy: any, decides: boolean, since: number, explained?: (policyId: string) => any}} properties */
function PolicyOutcome({ evaluation, policy, decides, since, explained }) {
  const [isOpen, setOpen] = useState(decides);
  const [icon, kind, words] = OUTCOMES[evaluation.outcome] ?? ["info", "", evaluation.outcome];
  const isChanged = policy && msOf(policy.updatedAt) > since;
  const clause = evaluation.clause && evaluation.outcome === "OUTCOME_DENY_IMPLICIT" && !evaluation.reason ? `: its ${evaluation.clause} is false` : "";
  return html`<li><details open=${isOpen} onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}>
    <summary><span class=${`mark ${kind}`}><${Icon} name=${icon} /></span>
      <span><b>${policy?.policyName ?? "A policy that was deleted later"}</b> ${words}${clause}${decides ? html` <span class="badge plain accent">decides</span>` : null}
        ${evaluation.reason ? html`<span class="small problem block">${evaluation.reason}</span>` : null}</span></summary>
    <div class="inner">
      ${policy ? html`${isChanged ? html`<p class="small muted">The policy was changed after this decision. This is its current version.</p>` : null}
        ${isOpen ? explained?.(policy.policyId) ?? html`<${Clauses} policy=${policy} />` : null}
        <a class="small" href=${to(["policies", policy.policyId])}>Open the policy</a>` : null}
    </div></details></li>`;
}

/** The texts alone, where the request is not on record. @param {{policy: any}} properties */
function Clauses({ policy }) {
  return ["condition", "consensus", "time"].filter((clause) => policy[clause]).map((clause) => html`<section class="clause"><h3>${valueInWords(clause)}</h3>
    <pre class="code wrap">${policy[clause]}</pre></section>`);
}
