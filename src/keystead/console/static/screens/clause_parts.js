// The clauses of a policy for one activity, part by part: what each part compared, and what is missing for it to pass.
import { html } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { hindrances, treeOf } from "../api/explained.js";
import { NamesIn, painted } from "../parts/expression_editor.js";
import { Icon } from "../parts/icons.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Time } from "../parts/texts.js";
import { msOf } from "../words.js";

/** @type {Record<string, [import("../parts/icons.js").IconName, string, string]>} icon, kind, words */
const VALUES = {
  true: ["done", "good", "holds"], false: ["cross", "", "does not hold"],
  unknown: ["warn", "bad", "is not known"], "not applicable": ["info", "", "does not concern this"],
};
/** What is said of parts that others make up. @type {Record<string, Record<string, string>>} */
const JOINED = {
  "&&": { true: "All of these hold", false: "Not all of these hold", unknown: "Whether all of these hold is not known" },
  "||": { true: "At least one of these holds", false: "None of these holds", unknown: "Whether one of these holds is not known" },
  "!": { true: "This must not hold, and does not", false: "This must not hold, but does", unknown: "This must not hold; whether it does is not known" },
};
const CLAUSES = { condition: "Condition", consensus: "Consensus", time: "Time" };

/** @typedef {import("../api/explained.js").Tree} Tree */
/** @typedef {Map<string, import("../api/directory.js").Named>} Names */

/**
 * `isOpen`: the activity still waits, so that what is missing may come.
 * @param {{activityId: string, policyId: string, state: string, isOpen: boolean, names: Names}} properties `state`: it is asked again when this changes
 */
export function ClauseParts({ activityId, policyId, state, isOpen, names }) {
  const explained = useLoaded(() => query("explain_policy", { activityId, policyId }), [activityId, policyId, state]);
  return html`<${Loaded} of=${explained}>${(/** @type {any} */ { explainedClauses, at }) => html`
    ${explainedClauses.length ? explainedClauses.map((/** @type {any} */ each) => html`<${Clause} key=${`${each.clause} ${each.item}`} clause=${each} isOpen=${isOpen} names=${names} />`)
      : html`<p class="muted small">The policy has no clause: it always applies.</p>`}
    <p class="small muted">Evaluated with the current policy and records, ${isOpen ? "at this moment" : html`at the time of the last change, <${Time} ms=${msOf(at)} />`}.</p>`}<//>`;
}

/** @param {{clause: {clause: keyof typeof CLAUSES, parts: import("../api/explained.js").Part[], item?: number | null}, isOpen: boolean, names: Names}} properties */
function Clause({ clause, isOpen, names }) {
  const tree = treeOf(clause.parts);
  return html`<section class="clause"><h3>${CLAUSES[clause.clause]}${clause.item ? ` for item ${clause.item}` : ""}</h3>
    <ul class="parts"><${PartOf} part=${tree} missing=${isOpen ? hindrances(tree) : new Set()} names=${names} /></ul></section>`;
}

/** @param {{part: Tree, missing: Set<Tree>, names: Names}} properties */
function PartOf({ part, missing, names }) {
  const [icon, kind, words] = VALUES[part.value];
  const joined = JOINED[part.operator]?.[part.value];
  return html`<li><div class="part"><span class=${`mark ${kind}`}><${Icon} name=${icon} /></span>
      <div>${joined ? html`<span class="muted">${joined}</span>` : html`<code class="wrap">${painted(part.text, undefined)}</code>
        ${" "}<span class=${`small value ${kind}`}>${words}</span>`}${missing.has(part) ? html` <span class="badge plain warn">missing</span>` : null}
        ${part.values.map(({ path, value }) => html`<div class="small muted wrap"><code>${path}</code> is <code class="read">${value}</code>${inEther(path, value)}</div>`)}
        ${part.operands.length ? null : html`<${NamesIn} text=${part.text} names=${names} />`}
        ${part.reason && !part.operator ? html`<div class="small problem">${part.reason}</div>` : null}</div></div>
    ${part.operands.length ? html`<ul>${part.operands.map((each, index) => html`<${PartOf} key=${index} part=${each} missing=${missing} names=${names} />`)}</ul>` : null}</li>`;
}

const ETHER = 10n ** 18n;

/** @param {string} path @param {string} value */
function inEther(path, value) {
  if (path !== "eth.tx.value" || !/^\d+$/.test(value)) return "";
  const wei = BigInt(value);
  const rest = String(wei % ETHER).padStart(18, "0").replace(/0+$/, "");
  return `, which is ${wei / ETHER}${rest ? `.${rest}` : ""} ETH`;
}
