// A request that was denied: it left a decision and no activity. Its id is in the answer that its sender got.
import { html } from "../vendor/preact.js";
import { Refused } from "../api/request.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Card, Copy, Empty, Facts, Heading, Time } from "../parts/texts.js";
import { msOf } from "../words.js";
import { Outcomes, decisionOn, verdictInWords } from "./decision.js";

/** @param {{id: string}} properties */
export function RefusedRequest({ id }) {
  const decision = useLoaded(() => decisionOn(id).catch((error) => {
    if (error instanceof Refused && error.status === 404) return { latest: undefined, byId: new Map() };
    throw error;
  }), [id]);
  const crumbs = html`<a href="#/activities">Activities</a>`;
  return html`<${Loaded} of=${decision}>${(/** @type {import("./decision.js").Decision} */ { latest, byId }) => (latest ? html`
    <${Heading} title="A request that was refused" crumbs=${crumbs} note=${html`Refused <${Time} ms=${msOf(latest.createdAt)} />. What it asked is not on record: its sender has it.`}>
      <span class="badge bad">Refused</span><//>
    <div class="columns"><${Card} title="Why"><p><b>${verdictInWords(latest)}</b></p><p class="muted">${SUGGESTIONS[latest.rule] ?? "A policy must allow it, or a member of the root quorum must ask for it."}</p>
        <${Outcomes} latest=${latest} byId=${byId} /><//>
      <${Card} title="Details"><${Facts} facts=${[["Id", html`<${Copy} text=${id} />`], ["Refused", html`<${Time} ms=${msOf(latest.createdAt)} exact />`]]} /><//></div>`
    : html`<${Heading} title="Not found" crumbs=${crumbs} /><${Empty} title="There is no such activity">Neither an activity nor a refused request of this organization has this id.<//>`)}<//>`;
}

/** What to do about it, by the rule that decided. */
/** @type {Record<string, string>} */
const SUGGESTIONS = {
  "a policy denies": "Change the policy that decides, if it should not deny this, or let the root quorum ask.",
  "only the root quorum may do this": "Only members of the root quorum may ask for this, whatever policies say.",
  "the session's profile does not cover it": "The session was begun with a profile that does not cover this. Log in without the profile, or with another.",
  "raw payloads are refused because policies restrict transactions": "Ask for the signature of a transaction, which policies can read, instead of a raw payload.",
};
