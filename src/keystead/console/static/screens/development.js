// For developers, on `keystead dev` alone: messages, the clock, snapshots, an example; other modules have what it saw and sent.
import { html, useState } from "../vendor/preact.js";
import { change, control } from "../api/development.js";
import { askForPayment } from "../api/example.js";
import { Loaded, useLoaded, useRepeated } from "../parts/loaded.js";
import { Notice, messageOf, tell } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { Card, Copy, Empty, Heading, Time } from "../parts/texts.js";
import { go, place, to } from "../router.js";
import { RequestsSeen } from "./requests_seen.js";
import { WebhooksSeen } from "./webhooks_seen.js";

const EVERY_MS = 1000;
const TABS = [["requests", "Requests"], ["messages", "Messages"], ["webhooks", "Webhooks"], ["server", "Server"]];

export function DevelopmentScreen() {
  const tab = place.value.parts[1] ?? "requests";
  const shown = { requests: RequestsSeen, messages: Messages, webhooks: WebhooksSeen, server: ServerState }[tab];
  return html`<${Heading} title="Development" note="Requests, messages and state of this development server. Production servers do not have this page." />
    <nav class="tabs" aria-label="Development">${TABS.map(([name, title]) => html`<a href=${to(["development", name])} aria-current=${tab === name ? "page" : undefined}>${title}</a>`)}</nav>
    ${shown ? html`<${shown} key=${tab} />` : html`<${Empty} title="There is no such page" />`}`;
}

function Messages() {
  const messages = useLoaded(async () => (await control("outbox")).messages.reverse(), []);
  useRepeated(messages.reload, EVERY_MS, []);
  return html`<${Card} title="Messages" flush><${Loaded} of=${messages}>${(/** @type {any[]} */ kept) => (kept.length ? html`
    <${Table} caption="Messages" rows=${kept} idOf=${(/** @type {any} */ { message }) => message.id} columns=${[
      { title: "To", cell: (/** @type {any} */ { message }) => message.recipient },
      { title: "Subject", cell: (/** @type {any} */ { message }) => html`<div>${message.subject}<details><summary class="small muted">Text</summary><pre class="long" tabindex="0">${message.text}</pre></details></div>` },
      { title: "Code", cell: (/** @type {any} */ { message }) => (message.secret ? html`<${Copy} text=${message.secret} short label="code" />` : "") },
      { title: "When", cell: (/** @type {any} */ { sentAtMs }) => html`<${Time} ms=${sentAtMs} />`, tight: true },
    ]} />` : html`<${Empty} title="No messages">A development server does not send e-mails and SMS. They appear here.<//>`)}<//><//>`;
}

const HOUR_MS = 3_600_000;

function ServerState() {
  const clock = useLoaded(() => control("clock"), []);
  const snapshots = useLoaded(async () => (await control("snapshots")).snapshots, []);
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  useRepeated(clock.reload, EVERY_MS, []);
  const act = async (/** @type {string} */ path, /** @type {Record<string, unknown>} */ what, /** @type {string} */ told) => {
    setProblem("");
    try {
      await change(path, what);
      tell(told);
      await Promise.all([clock.reload(), snapshots.reload()]);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const move = (/** @type {string} */ text, /** @type {number} */ advanceMs) => html`<button type="button" class="button" onClick=${() => act("clock", { advanceMs }, `The clock is ${text} further.`)}>+ ${text}</button>`;
  const take = (/** @type {Event} */ event) => {
    event.preventDefault();
    act("snapshots", { name: name.trim() }, "The snapshot was taken.");
  };
  return html`${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
    <div class="pair">
      <${Card} title="Clock"><${Loaded} of=${clock}>${(/** @type {any} */ state) => html`
        <p class="large">${new Date(state.nowMs).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" })} ${state.frozen ? html`<span class="badge warn">Frozen</span>` : null}</p>
        <div class="row">${move("1 minute", 60_000)}${move("1 hour", HOUR_MS)}${move("1 day", 24 * HOUR_MS)}</div>
        <div class="row"><button type="button" class="button" onClick=${() => act("clock", { frozen: !state.frozen }, state.frozen ? "The clock runs again." : "The clock is frozen.")}>${state.frozen ? "Let it run" : "Freeze"}</button>
          <button type="button" class="button" onClick=${() => act("clock", { system: true }, "The clock shows the machine's time again.")}>Back to the machine's time</button></div>`}<//><//>
      <${Card} title="Try an approval"><p>Another user asks for a payment of 0.05 ETH on a local chain, and a policy allows it after you approve. This creates a user, a policy and an activity that waits for you.</p>
        <${ExampleButton} /><//>
      <${Card} title="Snapshots"><${Loaded} of=${snapshots}>${(/** @type {string[]} */ names) => html`
        <ul class="stack tight">${names.map((each) => html`<li class="row spread"><span class="wrap">${each === "start" ? "State at the start" : each}</span>
          <button type="button" class="button tiny" onClick=${() => act("restore", { name: each }, "The snapshot was restored.")}>Restore</button></li>`)}</ul>
        <form class="row nowrap" onSubmit=${take}><div class="field"><label for="snapshot">New snapshot</label><input id="snapshot" class="input" maxLength="64" required value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></div>
          <button class="button">Take snapshot</button></form>`}<//><//>
      <${Card} title="Start again"><p>Resets everything to the state at the server's start: records, messages, received requests, clock. Sessions that began later end.</p>
        <div><button type="button" class="button danger" onClick=${() => act("reset", {}, "Everything was reset to the state at the start.")}>Reset everything</button></div><//>
    </div>`;
}

function ExampleButton() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const ask = async () => {
    setBusy(true);
    try {
      go(to(["activities", await askForPayment()]));
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return html`<div><button type="button" class="button primary" disabled=${isBusy} onClick=${ask}>Create an activity that waits</button></div>
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}`;
}
