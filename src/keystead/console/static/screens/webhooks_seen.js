// Webhooks that a development server sent, and what became of each attempt.
import { html, useState } from "../vendor/preact.js";
import { change, control } from "../api/development.js";
import { Loaded, useLoaded, useRepeated } from "../parts/loaded.js";
import { Table } from "../parts/table.js";
import { Card, Empty, Facts, Time } from "../parts/texts.js";
import { to } from "../router.js";
import { indented } from "./requests_seen.js";

const EVERY_MS = 1000;

/** @type {Record<string, string>} words and kinds of badge, by the verdict */
const KINDS = { accepted: "good", later: "warn", refused: "bad" };
/** @type {Record<string, string>} */
const VERDICTS = { accepted: "accepted", later: "will be tried again", refused: "refused" };

/** @typedef {any} Sent as /dev/v1/webhooks has it */

export function WebhooksSeen() {
  const [opened, setOpened] = useState("");
  const sent = useLoaded(async () => (await control("webhooks")).webhooks.reverse(), []);
  useRepeated(sent.reload, EVERY_MS, []);
  return html`<${Card} title="Webhooks" flush actions=${html`<button type="button" class="button tiny" onClick=${async () => (await change("webhooks", { clear: true }), sent.reload())}>Clear</button>`}>
    <${Loaded} of=${sent}>${(/** @type {Sent[]} */ all) => (all.length ? html`<${Table} caption="Webhooks" rows=${all} idOf=${idOf}
        below=${(/** @type {Sent} */ each) => (opened === idOf(each) ? html`<${Details} sent=${each} />` : null)} columns=${[
      { title: "To", cell: (/** @type {Sent} */ each) => html`<button type="button" class="link" aria-expanded=${opened === idOf(each)} onClick=${() => setOpened(opened === idOf(each) ? "" : idOf(each))}>${each.url}</button>` },
      { title: "Outcome", cell: (/** @type {Sent} */ each) => html`<span class=${`badge ${KINDS[each.verdict] ?? ""}`}>${VERDICTS[each.verdict] ?? each.verdict}</span>`, tight: true },
      { title: "Answer", cell: (/** @type {Sent} */ each) => each.status || each.reason },
      { title: "When", cell: (/** @type {Sent} */ each) => html`<${Time} ms=${each.sentAtMs} />`, tight: true },
    ]} />` : html`<${Empty} title="No webhooks yet" action=${html`<a class="button" href=${to(["actions", "create_webhook_endpoint"])}>Create a webhook endpoint</a>`}>
      A webhook is sent for each activity, to the endpoints that want it. Every attempt appears here.<//>`)}<//><//>`;
}

/** @param {Sent} sent */
function idOf(sent) {
  return `${sent.sentAtMs} ${sent.endpointId} ${sent.body}`;
}

/** @param {{sent: Sent}} properties */
function Details({ sent }) {
  return html`<div class="stack details">
    <${Facts} facts=${[
      ["Endpoint", html`<a href=${to(["records", "webhook_endpoints", sent.endpointId])}>Open the endpoint</a>`],
      ["Reason", sent.reason],
      ...Object.entries(sent.headers).map(([name, value]) => [html`<code>${name}</code>`, html`<code class="wrap">${value}</code>`]),
    ]} />
    <div><h3>Body</h3><pre class="long" tabindex="0">${indented(sent.body)}</pre></div></div>`;
}
