// Velocity controls: what is left of each, as a bar; a new limit, written in words.
import { html, useState } from "../vendor/preact.js";
import { query, submit } from "../api/calls.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Notice, messageOf, tell } from "../parts/notice.js";
import { ActionLink, useRecords } from "../parts/records.js";
import { SearchedTable } from "../parts/table.js";
import { Card, Copy, Empty, Heading } from "../parts/texts.js";
import { go, to } from "../router.js";
import { current } from "../session/session.js";
import { statusInWords } from "../words.js";

const PREFIX = "VELOCITY_CONTROL_AGGREGATION_";
/** @type {Record<string, string>} */
const OPERATORS = { LESS_THAN: "less than", LESS_THAN_OR_EQUAL: "at most", EQUAL: "exactly", GREATER_THAN_OR_EQUAL: "at least", GREATER_THAN: "more than" };
/** @type {Record<string, string>} */
const GROUPS = { organization: "for the organization", user: "for each user", wallet: "for each wallet" };

export function LimitsScreen() {
  const controls = useRecords("list_velocity_controls", "velocityControls");
  return html`<${Heading} title="Limits" note="Velocity controls: what may be signed in a time. Policies name them controls.identifier." />
    <${Loaded} of=${controls}>${(/** @type {any[]} */ rows) => html`<${SearchedTable} title="Limits" caption="Limits" rows=${rows}
      idOf=${(/** @type {any} */ each) => each.velocityControlId}
      textOf=${(/** @type {any} */ each) => `${each.name} ${each.identifier} ${inWords(each)}`}
      empty=${html`<${Empty} title="No limits">Write one below, then name it in a policy.<//>`}
      columns=${[
        { title: "Name", cell: (/** @type {any} */ each) => html`<b>${each.name}</b>` },
        { title: "In policies", cell: (/** @type {any} */ each) => html`<${Copy} text=${`controls.${each.identifier}`} />` },
        { title: "Limit", cell: inWords },
        { title: "Used", cell: (/** @type {any} */ each) => html`<${Used} control=${each} />` },
        { title: "Delete", cell: (/** @type {any} */ each) => html`<${ActionLink} operation="delete_velocity_control" fields=${{ velocityControlId: each.velocityControlId }} danger>Delete<//>`, tight: true },
      ]} />`}<//>
    <${NewLimit} />`;
}

/** @param {any} control @returns {string} such as "at most 150 in 24 hours for each user" */
function inWords({ aggregation }) {
  const rolling = aggregation.window.rolling;
  const group = Object.keys(aggregation.groupBy)[0] ?? "organization";
  const words = OPERATORS[aggregation.operator.replace(`${PREFIX}OPERATOR_`, "")] ?? aggregation.operator;
  return `${words} ${aggregation.threshold}${rolling ? ` in ${hoursOf(rolling.duration)}` : ""} ${GROUPS[group]}`;
}

/** @param {string} seconds */
function hoursOf(seconds) {
  const hours = Number(seconds) / 3600;
  return Number.isInteger(hours) ? `${hours} hours` : `${seconds} seconds`;
}

/** What is used, as a bar. Of a control by user, by who looks; what each wallet used is on no screen. @param {{control: any}} properties */
function Used({ control }) {
  const isOfWallets = "wallet" in control.aggregation.groupBy;
  const usage = useLoaded(async () => (isOfWallets ? undefined : query("get_velocity_control_usage", { velocityControlId: control.velocityControlId, userId: current().userId })), [control.velocityControlId]);
  if (isOfWallets) return html`<span class="muted">by wallet</span>`;
  return html`<${Loaded} of=${usage}>${(/** @type {any} */ { used, threshold, remaining }) => html`
    <meter class="wide" min="0" max=${Number(threshold) || 1} value=${Math.min(Number(used), Number(threshold))} aria-label=${`${used} of ${threshold} is used`}></meter>
    <span class="small muted block">${used} used, ${remaining} left${"user" in control.aggregation.groupBy ? " by you" : ""}</span>`}<//>`;
}

/** A sentence whose words are fields. */
function NewLimit() {
  const [draft, setDraft] = useState({ name: "", identifier: "", threshold: "150", caip19: "", decimals: "6", hours: "24", group: "user" });
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const field = (/** @type {keyof typeof draft} */ name, /** @type {string} */ label, size = 12) => html`<input class="input inline" aria-label=${label} placeholder=${label} size=${size} required
    value=${draft[name]} onInput=${(/** @type {any} */ event) => setDraft({ ...draft, [name]: event.target.value })} />`;
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      const activity = await submit("create_velocity_control", "ACTIVITY_TYPE_CREATE_VELOCITY_CONTROL", {
        name: draft.name, identifier: draft.identifier,
        dataSource: { chainAssetTransfer: { definition: [{ caip19: draft.caip19, decimals: draft.decimals }] } },
        aggregation: {
          method: `${PREFIX}METHOD_SUM`, operator: `${PREFIX}OPERATOR_LESS_THAN_OR_EQUAL`, threshold: draft.threshold,
          window: { rolling: { duration: String(Math.round(Number(draft.hours) * 3600)) } }, groupBy: { [draft.group]: {} },
        },
      });
      tell(`Creating the limit: ${statusInWords(activity.status).text.toLowerCase()}.`);
      go(to(["activities", activity.id]));
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return html`<${Card} title="New limit"><form class="stack" onSubmit=${save}>
      <p class="sentence">At most ${field("threshold", "amount", 8)} of ${field("caip19", "asset, such as eip155:8453/erc20:0x…", 44)} with ${field("decimals", "decimals", 3)} decimals
        in ${field("hours", "hours", 4)} hours <select class="input inline" aria-label="for whom" value=${draft.group} onChange=${(/** @type {any} */ event) => setDraft({ ...draft, group: event.target.value })}>
          ${Object.entries(GROUPS).map(([group, words]) => html`<option value=${group}>${words}</option>`)}</select>,
        called ${field("name", "name")} and in policies controls.${field("identifier", "identifier")}.</p>
      ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
      <div class="row"><button class="button primary" disabled=${isBusy}>Create limit</button>
        <${ActionLink} operation="create_velocity_control">All choices<//></div>
    </form><//>`;
}
