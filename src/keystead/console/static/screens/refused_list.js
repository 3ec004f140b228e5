// Requests that were denied at once: found by the id in their sender's error; a development server lists those of lately.
import { html, useState } from "../vendor/preact.js";
import { control } from "../api/development.js";
import { decidedId, senderOf, senders } from "../api/senders.js";
import { Loaded, useLoaded, useRepeated } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { Card, Empty, Heading, Time } from "../parts/texts.js";
import { go, to } from "../router.js";
import { current } from "../session/session.js";
import { sentence } from "../words.js";
import { isRefusal } from "./requests_seen.js";

const EVERY_MS = 3000;

export function RefusedList() {
  const [id, setId] = useState("");
  const open = (/** @type {Event} */ event) => {
    event.preventDefault();
    go(to(["activities", id.trim()]));
  };
  const isDevelopment = document.documentElement.dataset.mode === "dev";
  return html`<${Heading} title="Refused requests" crumbs=${html`<a href="#/activities">Activities</a>`} note="A request that the policies deny at once creates no activity. Its decision is stored under the id in the error that the sender got." />
    ${isDevelopment ? html`<${Lately} />` : html`<${Notice}>This server does not list refused requests here: its log has a line for each of them, with the reason. To see the outcome of each policy, enter the id from the sender’s error.<//>`}
    <${Card} title="By the id in the error"><form class="row nowrap" onSubmit=${open}>
      <div class="field"><label for="refused-id">Value of “activityId”</label><input id="refused-id" class="input mono" required autocomplete="off" spellcheck=${false} value=${id} onInput=${(/** @type {any} */ event) => setId(event.target.value)} /></div>
      <button class="button">Show decision</button></form><//>`;
}

/** @typedef {any} Request as /dev/v1/requests has it */

function Lately() {
  const seen = useLoaded(async () => (await control("requests")).requests.reverse(), []);
  const known = useLoaded(senders, []);
  useRepeated(seen.reload, EVERY_MS, []);
  const isMine = (/** @type {Request} */ { organizationId }) => !organizationId || organizationId === current().organizationId;
  return html`<${Card} title="Recently refused" flush><${Loaded} of=${seen}>${(/** @type {Request[]} */ all) => {
    const refused = all.filter((request) => isRefusal(request) && isMine(request));
    return refused.length ? html`<${Table} caption="Refused requests" rows=${refused} idOf=${(/** @type {Request} */ request) => request.number}
      href=${(/** @type {Request} */ request) => (decidedId(request) ? to(["activities", decidedId(request)]) : to(["development", "requests"], { show: "refused", number: String(request.number) }))} columns=${[
      { title: "Request", cell: (/** @type {Request} */ request) => (request.operation ? sentence(request.operation) : request.path) },
      { title: "Sent by", cell: (/** @type {Request} */ request) => senderOf(request, known.value ?? new Map())?.name ?? "", isName: true },
      { title: "Answer", cell: (/** @type {Request} */ request) => html`<span class=${`badge ${request.status >= 500 || !request.status ? "bad" : "warn"}`}>${request.status || "cut"}</span>`, tight: true },
      { title: "Reason", cell: (/** @type {Request} */ request) => request.reason },
      { title: "When", cell: (/** @type {Request} */ request) => html`<${Time} ms=${request.atMs} />`, tight: true },
    ]} />` : html`<${Empty} title="No refused requests">The last 200 requests that this development server refuses appear here.<//>`;
  }}<//><//>`;
}
