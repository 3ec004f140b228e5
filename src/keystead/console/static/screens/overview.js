// Pictures of what happened in a period, from counts of the server, each with its numbers as a table.
import { html, useEffect, useMemo } from "../vendor/preact.js";
import { OUTCOMES, PERIODS, USUAL_PERIOD, ages, buckets, byType, history, outcomeOf, refusals } from "../api/history.js";
import { waiting } from "../api/waiting.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Bars, Plot } from "../parts/plot.js";
import { Table } from "../parts/table.js";
import { Card, Empty, Heading, Time } from "../parts/texts.js";
import { place, refine, to } from "../router.js";
import { msOf, typeInWords, withShortAddresses } from "../words.js";

const TYPES_SHOWN = 5;
const OLDEST_SHOWN = 10;
const SIGNING = ["Signed", "Waiting", "Rejected", "Failed"];

/** @typedef {import("../api/history.js").Counted} Counted */

export function OverviewScreen() {
  const period = place.value.parameters.get("period") ?? USUAL_PERIOD;
  const loaded = useLoaded(() => history(period), [period]);
  return html`<${Heading} title="Overview" note="From this organization's own record, counted by the server.">
      <select class="input narrow" aria-label="Period" value=${period} onChange=${(/** @type {any} */ event) => refine({ period: event.target.value })}>
        ${Object.entries(PERIODS).map(([name, [words]]) => html`<option value=${name}>${words}</option>`)}</select><//>
    <${Loaded} of=${loaded}>${(/** @type {import("../api/history.js").Period[]} */ periods) => html`<${Pictures} periods=${periods} />`}<//>
    <${Waiting} />`;
}

/** A signature, or why there is none; "" for other activities. @param {Counted} counted */
function signing({ activityType, status }) {
  if (!activityType.includes("_SIGN_")) return "";
  return outcomeOf(status) === "Completed" ? "Signed" : outcomeOf(status);
}

/** @param {{periods: import("../api/history.js").Period[]}} properties */
function Pictures({ periods }) {
  const { types, plots, figures } = useMemo(() => {
    const types = byType(periods);
    const named = types.slice(0, TYPES_SHOWN).map(([word]) => word);
    const typeOf = (/** @type {Counted} */ { activityType }) => (named.includes(typeInWords(activityType)) ? typeInWords(activityType) : "Others");
    const outcomes = buckets(periods, ({ status }) => outcomeOf(status));
    const signatures = buckets(periods, signing);
    const refused = refusals(periods);
    const sum = (/** @type {import("../api/history.js").Bucket[]} */ over, /** @type {string} */ word) => over.reduce((total, { counts }) => total + (counts[word] ?? 0), 0);
    return {
      types,
      plots: [
        { title: "Activities by outcome", isOutcome: true, words: OUTCOMES, over: outcomes },
        { title: "Activities by type", words: [...named, "Others"], over: buckets(periods, typeOf) },
        { title: "Signatures by outcome", isOutcome: true, words: SIGNING, over: signatures },
        { title: "Refused requests", words: ["Refused"], over: refused },
      ],
      figures: /** @type {[string, number][]} */ ([["Completed", sum(outcomes, "Completed")], ["Signatures", sum(signatures, "Signed")], ["Waiting", sum(outcomes, "Waiting")],
        ["Rejected or failed", sum(outcomes, "Rejected") + sum(outcomes, "Failed")], ["Refused requests", sum(refused, "Refused")]]),
    };
  }, [periods]);
  if (figures.every(([, number]) => !number)) {
    return html`<section class="card"><${Empty} title="Nothing in this period">Activities appear here once somebody asks for one. A longer period looks further back.<//></section>`;
  }
  return html`<dl class="figures">${figures.map(([name, number]) => html`<div class="card"><dt>${name}</dt><dd>${number.toLocaleString("en")}</dd></div>`)}</dl>
    ${plots.map((plot) => html`<${Card} key=${plot.title} title=${plot.title}><${Plot} ...${plot} /><//>`)}
    ${types.length ? html`<${Card} title="By type"><${Bars} caption="Activities by type" rows=${types.slice(0, 12)} /><//>` : null}`;
}

/** What waits, and since when. */
function Waiting() {
  const old = [...(waiting.value ?? [])].reverse().slice(0, OLDEST_SHOWN);
  useEffect(() => void describe(old), [waiting.value]);
  return html`<div class="columns">
    <${Card} title="Waiting longest" flush>${old.length ? html`<${Table} caption="Activities that wait, oldest first" rows=${old} idOf=${(/** @type {any} */ each) => each.id}
      href=${(/** @type {any} */ each) => to(["activities", each.id])} columns=${[
        { title: "Activity", cell: (/** @type {any} */ each) => withShortAddresses(headlineOf(each)) },
        { title: "Since", cell: (/** @type {any} */ each) => html`<${Time} ms=${msOf(each.createdAt)} />`, tight: true },
      ]} />` : html`<${Empty} title="Nothing waits" />`}<//>
    <${Card} title="Approvals waiting, by age"><${Bars} caption="Approvals that wait, by their age" rows=${ages(waiting.value ?? [], Date.now())} /><//>
  </div>`;
}
