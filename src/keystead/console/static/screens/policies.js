// Policies: all of them with the server's warnings; one in the editor, checked by the server as one types.
import { html, useEffect, useMemo, useState } from "../vendor/preact.js";
import { forgetLists, listed, query, submit } from "../api/calls.js";
import { names } from "../api/directory.js";
import { EXAMPLES, NO_ADDRESS_YET, consensusOf } from "../api/policy_examples.js";
import { ApproversDialog } from "../parts/approvers.js";
import { useDraft } from "../parts/draft.js";
import { ExpressionEditor } from "../parts/expression_editor.js";
import { Icon } from "../parts/icons.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Notice, messageOf, tell } from "../parts/notice.js";
import { ActionLink } from "../parts/records.js";
import { TransferLimit } from "../parts/transfer_limit.js";
import { NewButton, SearchedTable } from "../parts/table.js";
import { Badge, Card, Copy, Empty, Facts, Heading, Time } from "../parts/texts.js";
import { go, place, to } from "../router.js";
import { counted, msOf, namesInWords, statusInWords, withShortAddresses } from "../words.js";
import { PolicyTrial } from "./policy_trial.js";

const CHECK_AFTER_MS = 250;
const CLAUSES = /** @type {const} */ ([
  ["condition", "Condition", "Which activities it applies to, such as activity.action == 'SIGN' && eth.tx.value < 1000000000000000000 (in wei: 1 ETH). Empty: everything."],
  ["consensus", "Consensus", "Whose approvals it needs, such as approvers.count() >= 2. Empty: the submitter's own approval is enough."],
  ["time", "Time", "When it applies, such as time.now < Timestamp('2027-01-01T00:00:00Z'). Empty: always."],
]);

/** @typedef {{policyName: string, effect: string, condition: string, consensus: string, time: string, notes: string}} Draft */

export function PoliciesScreen() {
  const [, id] = place.value.parts;
  return id ? html`<${PolicyPage} key=${id} id=${id} />` : html`<${PolicyList} />`;
}

function PolicyList() {
  const loaded = useLoaded(async () => {
    forgetLists();
    const [{ policies }, { policyWarnings }, { statuses }] = await Promise.all([
      listed("list_policies"), query("list_policy_warnings"), query("get_active_policies")]);
    const inactive = new Set(statuses.filter((/** @type {any} */ each) => !each.active).map((/** @type {any} */ each) => each.policyId));
    return { policies, warnings: policyWarnings, inactive };
  }, []);
  return html`<${Heading} title="Policies" note="A policy allows or denies activities. If no policy allows an activity, only the root quorum may do it.">
      <${NewButton} href="#/policies/new">New policy<//>
    <//>
    <${Loaded} of=${loaded}>${(/** @type {any} */ { policies, warnings, inactive }) => html`
      ${warnings.length ? html`<${Card} title=${counted(warnings.length, "warning")}><ul class="stack tight">${warnings.map((/** @type {any} */ each) => html`<li>
        <${Notice} kind="warn"><a href=${to(["policies", each.policyId])}>${each.policyName}</a>: ${each.message}<//></li>`)}</ul><//>` : null}
      <${SearchedTable} title="Policies" caption="Policies" rows=${policies} idOf=${(/** @type {any} */ policy) => policy.policyId}
        href=${(/** @type {any} */ policy) => to(["policies", policy.policyId])}
        textOf=${(/** @type {any} */ policy) => `${policy.policyName} ${policy.condition} ${policy.consensus} ${policy.notes}`}
        empty=${html`<${Empty} title="No policies" action=${html`<${NewButton} href="#/policies/new">New policy<//>`}>Without policies, only the root quorum may change anything.<//>`}
        columns=${[
          { title: "Name", cell: (/** @type {any} */ policy) => withShortAddresses(policy.policyName) },
          { title: "Effect", cell: (/** @type {any} */ policy) => html`<${Effect} effect=${policy.effect} />${inactive.has(policy.policyId) ? html` <${Badge}>Not now<//>` : null}`, tight: true },
          { title: "Condition", cell: (/** @type {any} */ policy) => html`<code class="clip">${policy.condition || "everything"}</code>` },
          { title: "Changed", cell: (/** @type {any} */ policy) => html`<${Time} ms=${msOf(policy.updatedAt)} />`, tight: true },
        ]} />`}<//>`;
}

/** @param {{effect: string}} properties */
function Effect({ effect }) {
  return effect === "EFFECT_DENY" ? html`<span class="badge bad">Deny</span>` : html`<span class="badge good">Allow</span>`;
}

/** @param {{id: string}} properties */
function PolicyPage({ id }) {
  const isNew = id === "new";
  const loaded = useLoaded(async () => {
    const [{ policyKeywords }, policy, directory] = await Promise.all([
      listed("list_policy_keywords"), isNew ? null : query("get_policy", { policyId: id }).then((answer) => answer.policy), names()]);
    return { keywords: policyKeywords, policy, directory };
  }, [id]);
  return html`<${Loaded} of=${loaded}>${(/** @type {any} */ { keywords, policy, directory }) => html`<${PolicyEditor} policy=${policy} keywords=${keywords} directory=${directory} />`}<//>`;
}

/** @param {any} policy @returns {Draft} */
function draftOf(policy) {
  const { policyName = "", effect = "EFFECT_ALLOW", condition = "", consensus = "", time, notes = "" } = policy ?? {};
  return { policyName, effect, condition, consensus, time: time ?? "", notes };
}

/** Signatures need the approval of this user. @param {string} userId @returns {Draft} */
function countingPolicy(userId) {
  return { ...draftOf(null), condition: "activity.action == 'SIGN'", consensus: `approvers.any(user, user.id == '${userId.replace(/[^0-9a-f-]/g, "")}')` };
}

/** @param {{policy: any, keywords: any[], directory: Map<string, import("../api/directory.js").Named>}} properties */
function PolicyEditor({ policy, keywords, directory }) {
  const approver = place.value.parameters.get("approver");
  const kept = useDraft(`policy ${policy?.policyId ?? "new"}${approver ? ` ${approver}` : ""}`, () => (approver ? countingPolicy(approver) : draftOf(policy)));
  const draft = kept.value;
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [asksLimit, setAsksLimit] = useState(draft.condition === NO_ADDRESS_YET);
  const checked = useCheck(draft);
  const change = (/** @type {Partial<Draft>} */ part) => kept.set({ ...draft, ...part });
  const isChanged = JSON.stringify(draft) !== JSON.stringify(draftOf(policy)); // a policy that counts a user is one to save
  const lacksAddress = draft.condition === NO_ADDRESS_YET;
  const lacks = !draft.policyName ? "Enter a name." : lacksAddress ? "Enter an address." : "";
  const byClause = useMemo(() => Object.groupBy(keywords, (each) => each.clause), [keywords]);
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      const activity = policy ? await submit("update_policy", "ACTIVITY_TYPE_UPDATE_POLICY_V2", changesOf(policy, draft))
        : await submit("create_policy", "ACTIVITY_TYPE_CREATE_POLICY_V3", { ...draft, time: draft.time || undefined });
      kept.forget();
      tell(`${policy ? "Changing" : "Creating"} the policy: ${statusInWords(activity.status).text.toLowerCase()}.`);
      go(to(["activities", activity.id]));
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  const text = (/** @type {"policyName" | "notes"} */ name) => (/** @type {any} */ event) => change({ [name]: event.target.value });
  return html`<${Heading} title=${policy ? policy.policyName : "New policy"} crumbs=${html`<a href="#/policies">Policies</a>`}>
      ${policy ? html`<${ActionLink} operation="delete_policy" fields=${{ policyId: policy.policyId }} danger>Delete<//>` : null}
    <//>
    <div class="columns">
      <form class="card" onSubmit=${save}><div class="body">
        <div class="field"><label for="policy-name">Name</label><input id="policy-name" class="input" required maxLength="255" value=${draft.policyName} onInput=${text("policyName")} /></div>
        <fieldset class="choice" aria-label="Effect">${[["EFFECT_ALLOW", "Allow"], ["EFFECT_DENY", "Deny"]].map(([effect, word]) => html`<label class="check">
          <input type="radio" name="effect" checked=${draft.effect === effect} onChange=${() => change({ effect })} />${word}</label>`)}</fieldset>
        ${policy || draft.condition || draft.consensus || draft.time ? null : html`<div class="examples" role="group" aria-label="Examples to begin with"><span class="small muted">Begin with</span>
          ${EXAMPLES.map(({ title, asksLimit: asks = false, ...clauses }) => html`<button type="button" class="button tiny" key=${title} onClick=${() => (setAsksLimit(asks), change({ policyName: draft.policyName || title, ...clauses }))}>${title}</button>`)}</div>`}
        ${asksLimit ? html`<${TransferLimit} onWrite=${(/** @type {string} */ condition) => change({ condition })} />` : null}
        <${PolicyApprovers} onWrite=${(/** @type {string} */ consensus) => change({ consensus })} />
        ${CLAUSES.map(([clause, label, hint]) => html`<${ExpressionEditor} key=${clause} label=${label} hint=${hint} value=${draft[clause]} keywords=${byClause[clause] ?? []} names=${directory}
          problem=${checked.problems.find((each) => each.clause === clause)} onChange=${(/** @type {string} */ changed) => change({ [clause]: changed })} />`)}
        <div class="field"><label for="policy-notes">Notes <span class="muted small">(optional)</span></label><textarea id="policy-notes" class="input" maxLength="2000" value=${draft.notes} onInput=${text("notes")}></textarea></div>
        ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
        <div class="row"><button class="button primary" disabled=${isBusy || !isChanged || lacks !== "" || checked.problems.length > 0}>${policy ? "Save" : "Create policy"}</button>
          ${isChanged ? html`<button type="button" class="button plain" onClick=${() => (setAsksLimit(false), kept.forget())}>${policy ? "Undo the changes" : "Start over"}</button>` : null}${isChanged && lacks ? html`<span class="small muted">${lacks}</span>` : null}</div>
      </div></form>
      <div class="stack">
        <${Card} title="Check">${isChanged || policy ? html`<${Checked} checked=${checked} />` : html`<p class="muted">The server checks the policy while you write it.</p>`}<//>
        <${Card} title="Try it on the record" flush><${PolicyTrial} draft=${draft} policyId=${policy?.policyId} isReadable=${checked.isKnown && !checked.problems.length} /><//>
        ${policy ? html`<${Card} title="Details"><${Facts} facts=${[
          ["Id", html`<${Copy} text=${policy.policyId} />`],
          ["Created", html`<${Time} ms=${msOf(policy.createdAt)} />`],
          ["Changed", html`<${Time} ms=${msOf(policy.updatedAt)} />`],
        ]} /><//>` : null}
      </div>
    </div>`;
}

/** Writes the consensus from names and a number. @param {{onWrite: (consensus: string) => void}} properties */
function PolicyApprovers({ onWrite }) {
  const [isOpen, setOpen] = useState(false);
  const sentence = (/** @type {string[]} */ names, /** @type {number} */ count) =>
    (names.length === 1 ? `It needs the approval of ${names[0]}.` : `It needs the approvals of ${count === names.length ? namesInWords(names) : `any ${count} of ${namesInWords(names)}`}. Who submits it and is among them has approved already.`);
  const save = async (/** @type {import("../parts/approvers.js").Approvers} */ { ids, count }) => onWrite(consensusOf(ids, count));
  return html`<div><button type="button" class="button" onClick=${() => setOpen(true)}><${Icon} name="user" />Choose who approves</button>
    ${isOpen ? html`<${ApproversDialog} title="Who approves what this policy allows" chosen=${{ ids: [], count: 1 }} action="Write it into the policy" sentence=${sentence} onSave=${save} onClose=${() => setOpen(false)} />` : null}</div>`;
}

/** @typedef {{problems: any[], warnings: any[], isKnown: boolean, error: string}} Check */

/** What the server says of the draft, a moment after the last key. @param {Draft} draft @returns {Check} */
function useCheck({ effect, condition, consensus, time }) {
  const [checked, setChecked] = useState(/** @type {Check} */ ({ problems: [], warnings: [], isKnown: false, error: "" }));
  useEffect(() => {
    let isWanted = true;
    const timer = setTimeout(async () => {
      try {
        const answer = await query("check_policy", { effect, condition, consensus, time });
        if (isWanted) setChecked({ ...answer, isKnown: true, error: "" });
      } catch (error) {
        if (isWanted) setChecked({ problems: [], warnings: [], isKnown: false, error: messageOf(error) });
      }
    }, CHECK_AFTER_MS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [effect, condition, consensus, time]);
  return checked;
}

/** @param {{checked: Check}} properties */
function Checked({ checked }) {
  if (checked.error) return html`<${Notice} kind="bad">${checked.error}<//>`;
  if (!checked.isKnown) return html`<p class="muted">Checking…</p>`;
  if (checked.problems.length) return html`<${Notice} kind="bad">${counted(checked.problems.length, "expression")} cannot be read yet.<//>`;
  return checked.warnings.length ? checked.warnings.map((each) => html`<${Notice} kind="warn">${each.message}<//>`)
    : html`<${Notice} kind="good">The server accepts this policy and has no warnings.<//>`;
}

/** The parameters of update_policy: what changed. @param {any} policy @param {Draft} draft */
function changesOf(policy, draft) {
  const before = draftOf(policy);
  const names = /** @type {const} */ ([["policyName", "policyName"], ["effect", "policyEffect"], ["condition", "policyCondition"], ["consensus", "policyConsensus"], ["notes", "policyNotes"], ["time", "time"]]);
  const changed = names.filter(([name]) => draft[name] !== before[name]).map(([name, parameter]) => [parameter, draft[name]]);
  return { policyId: policy.policyId, ...Object.fromEntries(changed) };
}
