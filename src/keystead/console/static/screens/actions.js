// Every operation of the server that changes something, from its catalogue; and a form for each.
import { html, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { operations, schemas } from "../api/catalogue.js";
import { parametersOf, prefilled } from "../api/forms.js";
import { useDraft } from "../parts/draft.js";
import { ObjectFields } from "../parts/form.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Notice, messageOf, tell } from "../parts/notice.js";
import { Card, Empty, Heading } from "../parts/texts.js";
import { go, place, to } from "../router.js";
import { operationInWords, statusInWords } from "../words.js";

export function ActionsScreen() {
  const [, name] = place.value.parts;
  const catalogue = useLoaded(async () => ({ all: await operations(), schemas: await schemas() }), []);
  return html`<${Loaded} of=${catalogue}>${(/** @type {any} */ loaded) => (name
    ? html`<${ActionForm} key=${location.hash} operation=${loaded.all.find((/** @type {any} */ each) => each.name === name)} schemas=${loaded.schemas} />`
    : html`<${ActionList} operations=${loaded.all} />`)}<//>`;
}

/** @param {{operations: import("../api/catalogue.js").Operation[]}} properties */
function ActionList({ operations }) {
  const [sought, setSought] = useState("");
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = operations.filter(({ name, summary }) => words.every((word) => `${operationInWords(name)} ${summary}`.toLowerCase().includes(word)));
  const subjects = [...new Set(found.map(({ subject }) => subject))].sort();
  return html`<${Heading} title="All actions" note="Every operation of this server that changes something. Policies and the root quorum decide whether it is executed." />
    <input class="input" type="search" placeholder="Search" aria-label="Search actions" value=${sought} onInput=${(/** @type {any} */ event) => setSought(event.target.value)} />
    ${found.length ? null : html`<${Empty} title="Nothing found">No action contains “${sought}”.<//>`}
    <div class="subjects">${subjects.map((subject) => html`<${Card} key=${subject} title=${operationInWords(subject)}>
      <ul class="stack tight">${found.filter((each) => each.subject === subject).map((each) => html`<li key=${each.name}>
        <a href=${to(["actions", each.name])}>${operationInWords(each.name)}</a><div class="small muted">${each.summary}</div></li>`)}</ul><//>`)}</div>`;
}

/** @param {{operation: import("../api/catalogue.js").Operation | undefined, schemas: any}} properties */
function ActionForm({ operation, schemas }) {
  const crumbs = html`<a href="#/actions">All actions</a>`;
  const draft = useDraft(location.hash, () => (operation ? prefilled(operation.parameters, schemas, place.value.parameters) : {}));
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  if (!operation) return html`<${Heading} title="Not found" crumbs=${crumbs} /><${Empty} title="There is no such action">This server does not answer it.<//>`;
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      const parameters = parametersOf(operation.parameters, schemas, draft.value);
      const activity = await submit(operation.name, operation.activityType, parameters);
      draft.forget();
      tell(`${operationInWords(operation.name)}: ${statusInWords(activity.status).text.toLowerCase()}.`);
      go(to(["activities", activity.id]));
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return html`<${Heading} title=${operationInWords(operation.name)} crumbs=${crumbs} note=${operation.summary} />
    <form class="card form" onSubmit=${send}><div class="body">
      ${draft.wasKept ? html`<${Notice}>Your earlier input was restored. <button type="button" class="link" onClick=${draft.forget}>Start over</button><//>` : null}
      <${ObjectFields} schema=${operation.parameters} all=${schemas} value=${draft.value} onChange=${draft.set} />
      ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
      <div class="row"><button class=${`button primary ${operation.name.startsWith("delete_") ? "danger-fill" : ""}`} disabled=${isBusy}>${operationInWords(operation.name)}</button>
        <button type="button" class="button plain" onClick=${() => (draft.forget(), history.back())}>Cancel</button></div>
    </div></form>`;
}
