// A request that was denied: it left a decision and no activity. Its id is in the answer that its sender got; a development
// server keeps the request for a while.
import { html } from "../vendor/preact.js";
import { names } from "../api/directory.js";
import { Refused } from "../api/request.js";
import { requestDecided, senderOf, senders } from "../api/senders.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Card, Copy, Empty, Facts, Heading, Time } from "../parts/texts.js";
import { Value } from "../parts/values.js";
import { to } from "../router.js";
import { msOf, sentence } from "../words.js";
import { Outcomes, decisionOn, verdictInWords } from "./decision.js";

/** @param {{id: string}} properties */
export function RefusedRequest({ id }) {
  const decision = useLoaded(() => decisionOn(id).catch((error) => {
    if (error instanceof Refused && error.status === 404) return { latest: undefined, byId: new Map() };
    throw error;
  }), [id]);
  const kept = useLoaded(() => keptRequest(id), [id]);
  const crumbs = html`<a href="#/activities">Activities</a>, <a href="#/activities/refused">refused requests</a>`;
  return html`<${Loaded} of=${decision}>${(/** @type {import("./decision.js").Decision} */ { latest, byId }) => (latest ? html`
    <${Heading} title=${kept.value ? `${sentence(kept.value.request.operation)}: refused` : "A request that was refused"} crumbs=${crumbs}
      note=${html`${kept.value?.sender ? html`<a href=${kept.value.sender.href}>${kept.value.sender.name}</a> asked ` : "Refused "}<${Time} ms=${msOf(latest.createdAt)} />.${kept.value || kept.isLoading ? "" : " Its content is not on record; its sender has it."}`}>
      <span class="badge bad">Refused</span><//>
    <div class="columns"><div class="stack"><${Card} title="Why"><p><b>${verdictInWords(latest)}</b></p><p class="muted">${SUGGESTIONS[latest.rule] ?? "A policy must allow it, or a member of the root quorum must submit it."}</p>
        <${Outcomes} latest=${latest} byId=${byId} /><//>
        ${kept.value ? html`<${Asked} ...${kept.value} />` : null}</div>
      <${Card} title="Details"><${Facts} facts=${[["Id", html`<${Copy} text=${id} />`], ["Refused", html`<${Time} ms=${msOf(latest.createdAt)} exact />`]]} /><//></div>`
    : html`<${Heading} title="Not found" crumbs=${crumbs} /><${Empty} title="There is no such activity">Neither an activity nor a refused request of this organization has this id.<//>`)}<//>`;
}

/** @typedef {{request: any, parameters: any, sender: import("../api/senders.js").Sender | undefined, directory: Map<string, import("../api/directory.js").Named>}} Kept */

/** @param {string} id @returns {Promise<Kept | null>} */
async function keptRequest(id) {
  const request = await requestDecided(id);
  if (!request) return null;
  const [known, directory] = await Promise.all([senders(), names()]);
  return { request, parameters: parametersOf(request), sender: senderOf(request, known), directory };
}

/** Undefined where the body was longer than the server keeps. @param {any} request */
function parametersOf({ body }) {
  try {
    return JSON.parse(body).parameters;
  } catch {
    return undefined;
  }
}

/** @param {Kept} properties */
function Asked({ request, parameters, directory }) {
  return html`<${Card} title="Parameters" actions=${html`<a class="button tiny" href=${to(["development", "requests"], { show: "refused", number: String(request.number) })}>The whole request</a>`}>
    ${parameters ? html`<${Value} value=${parameters} names=${directory} />` : html`<p class="muted">Open the whole request to see them.</p>`}<//>`;
}

/** What to do about it, by the rule that decided. */
/** @type {Record<string, string>} */
const SUGGESTIONS = {
  "a policy denies": "If the policy should not deny this, change it. Or let the root quorum submit the request.",
  "only the root quorum may do this": "Only members of the root quorum may submit this, whatever policies say.",
  "the session's profile does not cover it": "The session was started with a profile that does not cover this. Log in without the profile, or with another one.",
  "raw payloads are refused because policies restrict transactions": "Submit the transaction, which policies can read, instead of a raw payload.",
};
