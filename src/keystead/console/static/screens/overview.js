// Pictures of what happened, from the newest activities, each with its numbers as a table.
import { html, useEffect } from "../vendor/preact.js";
import { OUTCOMES, buckets, newest, outcomeOf, tally } from "../api/history.js";
import { waiting } from "../api/waiting.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Table } from "../parts/table.js";
import { Card, Empty, Heading, Time } from "../parts/texts.js";
import { to } from "../router.js";
import { counted, msOf, typeInWords } from "../words.js";

const [WIDTH, HEIGHT] = [720, 180];

export function OverviewScreen() {
  const loaded = useLoaded(newest, []);
  return html`<${Heading} title="Overview" note="From this organization's own record." />
    <${Loaded} of=${loaded}>${(/** @type {any[]} */ activities) => (activities.length ? html`<${Pictures} activities=${activities} />`
      : html`<section class="card"><${Empty} title="Nothing has happened yet">Activities appear here once somebody asks for one.<//></section>`)}<//>`;
}

/** @param {{activities: any[]}} properties */
function Pictures({ activities }) {
  const oldest = msOf(activities.at(-1).createdAt);
  const outcomes = tally(activities.map((activity) => outcomeOf(activity.status)));
  const count = (/** @type {string} */ outcome) => outcomes.find(([each]) => each === outcome)?.[1] ?? 0;
  const signatures = activities.filter((activity) => activity.type.includes("_SIGN_") && outcomeOf(activity.status) === "Completed").length;
  const old = [...(waiting.value ?? [])].reverse();
  useEffect(() => void describe(old.slice(0, 10)), [waiting.value]);
  return html`<p class="muted">${counted(activities.length, "activity", "activities")}, the oldest <${Time} ms=${oldest} />.</p>
    <dl class="figures">${[["Completed", count("Completed")], ["Signatures", signatures], ["Waiting", count("Waiting")], ["Rejected or failed", count("Rejected") + count("Failed")]]
      .map(([name, number]) => html`<div class="card"><dt>${name}</dt><dd>${number.toLocaleString("en")}</dd></div>`)}</dl>
    <${Card} title="Activities over time"><${OverTime} activities=${activities} /><//>
    <div class="pair">
      <${Card} title="By type"><${Bars} caption="Activities by type" rows=${tally(activities.map((activity) => typeInWords(activity.type))).slice(0, 12)} /><//>
      <${Card} title="By user"><${Bars} caption="Activities by the user who asked" rows=${tally(activities.map((activity) => activity.votes[0]?.user.userName ?? "unknown")).slice(0, 12)} /><//>
    </div>
    <${Card} title="Waiting longest" flush>${old.length ? html`<${Table} caption="Activities that wait, oldest first" rows=${old.slice(0, 10)} idOf=${(/** @type {any} */ each) => each.id}
      href=${(/** @type {any} */ each) => to(["activities", each.id])} columns=${[
        { title: "Activity", cell: headlineOf },
        { title: "Since", cell: (/** @type {any} */ each) => html`<${Time} ms=${msOf(each.createdAt)} />`, tight: true },
      ]} />` : html`<${Empty} title="Nothing waits" />`}<//>`;
}

/** Columns of outcomes over time. Outcomes differ in their pattern, too. @param {{activities: any[]}} properties */
function OverTime({ activities }) {
  const over = buckets(activities);
  const most = Math.max(...over.map(({ counts }) => total(counts)), 1);
  const step = WIDTH / over.length;
  const height = (/** @type {number} */ number) => (number / most) * (HEIGHT - 24);
  const present = OUTCOMES.filter((outcome) => over.some(({ counts }) => counts[outcome]));
  return html`<figure>
    <svg class="plot" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`Activities over time: at most ${most} at once. The numbers are in the table below.`}>
      <${Patterns} />
      <line class="axis" x1="0" x2=${WIDTH} y1=${HEIGHT - 20} y2=${HEIGHT - 20} />
      ${over.map(({ label, counts }, index) => {
        let top = HEIGHT - 20;
        return html`<g>${OUTCOMES.map((outcome) => {
          const size = height(counts[outcome] ?? 0);
          top -= size;
          return size ? html`<rect class=${`bar ${outcome.toLowerCase()}`} x=${index * step + Math.min(step * 0.1, 3)} width=${Math.min(Math.max(step * 0.8, 2), 60)} y=${top} height=${size}><title>${label}: ${counts[outcome]} ${outcome.toLowerCase()}</title></rect>` : null;
        })}</g>`;
      })}
      <text x="0" y=${HEIGHT - 4}>${over[0].label}</text>
      ${over.length > 1 ? html`<text x=${WIDTH} y=${HEIGHT - 4} text-anchor="end">${over.at(-1)?.label}</text>` : null}
    </svg>
    <figcaption class="legend">${present.map((outcome) => html`<span><svg width="14" height="14" aria-hidden="true"><rect class=${`bar ${outcome.toLowerCase()}`} width="14" height="14" rx="3" /></svg>${outcome}</span>`)}</figcaption>
    <details><summary class="muted small">As a table</summary><div class="scrolls"><${Table} caption="Activities over time" rows=${over} idOf=${(/** @type {any} */ each) => each.startMs}
      columns=${[{ title: "From", cell: (/** @type {any} */ each) => each.label }, ...OUTCOMES.map((outcome) => ({ title: outcome, cell: (/** @type {any} */ each) => each.counts[outcome] ?? 0 }))]} /></div></details>
  </figure>`;
}

function Patterns() {
  return html`<defs>
    <pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="fill warn" width="6" height="6" /><rect class="fill ground" width="2" height="6" /></pattern>
    <pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="fill bad" width="6" height="6" /><circle class="fill ground" cx="3" cy="3" r="1.4" /></pattern>
  </defs>`;
}

/** @param {Record<string, number>} counts */
function total(counts) {
  return Object.values(counts).reduce((sum, number) => sum + number, 0);
}

/** A list of words with a bar each; the numbers stand beside. @param {{caption: string, rows: [string, number][]}} properties */
function Bars({ caption, rows }) {
  const most = Math.max(...rows.map(([, number]) => number), 1);
  return html`<table class="bars"><caption class="visually-hidden">${caption}</caption>
    <thead class="visually-hidden"><tr><th scope="col">What</th><th scope="col">Number</th></tr></thead>
    <tbody>${rows.map(([word, number]) => html`<tr><th scope="row">${word}</th>
      <td><svg width="100%" height="10" aria-hidden="true"><rect class="bar completed" height="10" rx="3" width=${`${(number / most) * 100}%`} /></svg></td>
      <td class="number">${number.toLocaleString("en")}</td></tr>`)}</tbody></table>`;
}
