// Requests as they come in, on `keystead dev` alone: each with its stamp taken apart, its answer and the reason of a refusal.
import { html, useState } from "../vendor/preact.js";
import { change, control } from "../api/development.js";
import { decidedId, senderOf, senders } from "../api/senders.js";
import { suggestionFor } from "../api/suggestions.js";
import { Loaded, useLoaded, useRepeated } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { Card, Copy, Empty, Facts, Time } from "../parts/texts.js";
import { place, refine, to } from "../router.js";
import { current } from "../session/session.js";
import { operationInWords, withTypesInWords } from "../words.js";

const EVERY_MS = 1000;

/** @typedef {any} Request as /dev/v1/requests has it */

export function RequestsSeen() {
  const [isHalted, setHalted] = useState(false);
  const [hidesConsole, setHidesConsole] = useState(!place.value.parameters.has("number"));
  const [opened, setOpened] = useState(Number(place.value.parameters.get("number") ?? 0));
  const isRefused = place.value.parameters.get("show") === "refused";
  const seen = useLoaded(async () => (await control("requests")).requests.reverse(), []);
  const known = useLoaded(senders, []);
  useRepeated(() => !isHalted && seen.reload(), EVERY_MS, [isHalted]);
  return html`<${Card} title="Requests" flush actions=${html`
      <label class="check small"><input type="checkbox" checked=${isRefused} onChange=${() => refine({ show: isRefused ? "" : "refused" })} />Refused ones only</label>
      <label class="check small"><input type="checkbox" checked=${hidesConsole} onChange=${() => setHidesConsole(!hidesConsole)} />Hide this browser's</label>
      <button type="button" class="button tiny" onClick=${() => setHalted(!isHalted)}>${isHalted ? "Continue" : "Pause"}</button>
      <button type="button" class="button tiny" onClick=${async () => (await change("requests", { clear: true }), seen.reload())}>Clear</button>`}>
    <${Loaded} of=${seen}>${(/** @type {Request[]} */ all) => {
      const shown = all.filter((request) => !(hidesConsole && isOfConsole(request)) && !(isRefused && !isRefusal(request)));
      return shown.length ? html`<${Table} caption="Requests" rows=${shown} idOf=${(/** @type {Request} */ request) => request.number}
          below=${(/** @type {Request} */ request) => (opened === request.number ? html`<${RequestDetails} request=${request} sender=${senderOf(request, known.value ?? new Map())} />` : null)} columns=${[
        { title: "Request", cell: (/** @type {Request} */ request) => html`<button type="button" class="link" aria-expanded=${opened === request.number}
          onClick=${() => setOpened(opened === request.number ? 0 : request.number)}>${request.operation ? operationInWords(request.operation) : request.path}</button>` },
        { title: "Answer", cell: (/** @type {Request} */ request) => html`<span class=${`badge ${statusKind(request.status)}`}>${request.status || "cut"}</span>`, tight: true },
        { title: "Reason", cell: (/** @type {Request} */ request) => withTypesInWords(request.reason ?? "") },
        { title: "Took", cell: (/** @type {Request} */ request) => `${request.ms.toFixed(1)} ms`, tight: true },
        { title: "When", cell: (/** @type {Request} */ request) => html`<${Time} ms=${request.atMs} />`, tight: true },
      ]} />` : html`<${Empty} title=${isRefused ? "No request was refused" : "No requests yet"}>Requests of programs and other pages appear here when they arrive.<//>`;
    }}<//><//>`;
}

/** The console's requests are known by the key of this browser. @param {Request} request */
function isOfConsole(request) {
  return request.stamps.some((/** @type {any} */ stamp) => stamp.publicKey === current().key.publicKey);
}

/** @param {Request} request */
export function isRefusal({ status }) {
  return status === 0 || status >= 400;
}

/** @param {number} status */
function statusKind(status) {
  return status === 0 || status >= 500 ? "bad" : status >= 400 ? "warn" : "good";
}

const FORMS = { sdk: "of published clients (times as seconds and nanos)", documented: "as the documentation shows it (times as text)" };

/** @param {{request: Request, sender?: import("../api/senders.js").Sender}} properties */
function RequestDetails({ request, sender }) {
  const suggestion = isRefusal(request) ? suggestionFor(request) : "";
  return html`<div class="stack details">
    ${suggestion ? html`<${Notice}><b>What to do.</b> ${suggestion}${request.status === 400 && request.operation && request.path.includes("/submit/")
      ? html` <a href=${to(["actions", request.operation])}>Open the form</a>` : null}<//>` : null}
    <${Facts} facts=${[
      ["Sent by", sender ? html`<a href=${sender.href}>${sender.name}</a>` : null],
      ["Path", html`<code>${request.method} ${request.path}</code>`],
      ["Request id", request.requestId ? html`<${Copy} text=${request.requestId} />` : null],
      ["Decision", decidedId(request) ? html`<a href=${to(["activities", decidedId(request)])}>Outcome of each policy</a>` : null],
      ["Organization", request.organizationId ? html`<${Copy} text=${request.organizationId} />` : null],
      ["Form of the answer", FORMS[/** @type {keyof typeof FORMS} */ (request.form)]],
      ["Fault", request.fault ? "set by a fault or rate limit of the developer's controls" : null],
    ]} />
    ${request.stamps.length ? request.stamps.map((/** @type {any} */ stamp) => html`<${Facts} facts=${[
      ["Stamp", html`<code>${stamp.header}</code>`],
      ["Unreadable", stamp.problem],
      ["Scheme", stamp.scheme],
      ["Public key", stamp.publicKey ? html`<${Copy} text=${stamp.publicKey} />` : null],
      ["Credential id", stamp.credentialId ? html`<${Copy} text=${stamp.credentialId} />` : null],
      ["Signature", stamp.signature ? html`<${Copy} text=${stamp.signature} short />` : null],
      ["Client data", stamp.clientData ? html`<code class="wrap">${stamp.clientData}</code>` : null],
    ]} />`) : html`<p class="muted">No stamp.</p>`}
    <div><h3>Body</h3><pre class="long" tabindex="0">${indented(request.body)}</pre></div>
    <div><h3>Answer</h3><pre class="long" tabindex="0">${indented(request.answer)}</pre></div>
  </div>`;
}

/** @param {string} text */
export function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text || "empty";
  }
}
