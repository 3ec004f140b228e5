// Pictures of what happened, from the newest activities, each with its numbers as a table.
import { html, useEffect, useMemo } from "../vendor/preact.js";
import { OUTCOMES, ages, buckets, newest, outcomeOf, tally } from "../api/history.js";
import { waiting } from "../api/waiting.js";
import { askerName } from "../api/summary.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Bars, Plot } from "../parts/plot.js";
import { Table } from "../parts/table.js";
import { Card, Empty, Heading, Time } from "../parts/texts.js";
import { to } from "../router.js";
import { counted, msOf, typeInWords, withShortAddresses } from "../words.js";

const TYPES_SHOWN = 5;
const OLDEST_SHOWN = 10;
const SIGNING = ["Signed", "Waiting", "Rejected", "Failed"];

export function OverviewScreen() {
  const loaded = useLoaded(newest, []);
  return html`<${Heading} title="Overview" note="From this organization's own record." />
    <${Loaded} of=${loaded}>${(/** @type {any[]} */ activities) => (activities.length ? html`<${Pictures} activities=${activities} />`
      : html`<section class="card"><${Empty} title="Nothing has happened yet">Activities appear here once somebody asks for one.<//></section>`)}<//>`;
}

/** @param {any} activity */
function outcome({ status }) {
  return outcomeOf(status);
}

/** A signature, or why there is none; "" for other activities. @param {any} activity */
function signing(activity) {
  if (!activity.type.includes("_SIGN_")) return "";
  return outcome(activity) === "Completed" ? "Signed" : outcome(activity);
}

/** @param {{activities: any[]}} properties */
function Pictures({ activities }) {
  const { types, plots } = useMemo(() => {
    const types = tally(activities.map((activity) => typeInWords(activity.type)));
    const named = types.slice(0, TYPES_SHOWN).map(([word]) => word);
    const typeOf = (/** @type {any} */ activity) => (named.includes(typeInWords(activity.type)) ? typeInWords(activity.type) : "Others");
    return {
      types,
      plots: [
        { title: "Activities by outcome", isOutcome: true, words: OUTCOMES, over: buckets(activities, outcome) },
        { title: "Activities by type", words: [...named, "Others"], over: buckets(activities, typeOf) },
        { title: "Signatures and refusals", isOutcome: true, words: SIGNING, over: buckets(activities, signing) },
      ],
    };
  }, [activities]);
  const count = (/** @type {string} */ word) => activities.filter((activity) => outcome(activity) === word).length;
  const signatures = activities.filter((activity) => signing(activity) === "Signed").length;
  // Ids are not in the order of these times if the clock of a development server was moved.
  const firstMs = activities.reduce((ms, activity) => Math.min(ms, msOf(activity.createdAt)), Infinity);
  return html`<p class="muted">${counted(activities.length, "activity", "activities")}. The first was created <${Time} ms=${firstMs} />. Requests that the policies denied at once leave no activity and are not counted.</p>
    <dl class="figures">${[["Completed", count("Completed")], ["Signatures", signatures], ["Waiting", count("Waiting")], ["Rejected or failed", count("Rejected") + count("Failed")]]
      .map(([name, number]) => html`<div class="card"><dt>${name}</dt><dd>${number.toLocaleString("en")}</dd></div>`)}</dl>
    ${plots.map((plot) => html`<${Card} key=${plot.title} title=${plot.title}><${Plot} ...${plot} /><//>`)}
    <${Waiting} />
    <div class="pair">
      <${Card} title="By type"><${Bars} caption="Activities by type" rows=${types.slice(0, 12)} /><//>
      <${Card} title="By user"><${Bars} caption="Activities by the user who asked" rows=${tally(activities.map(askerName)).slice(0, 12)} /><//>
    </div>`;
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
