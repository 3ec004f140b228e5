// One activity: what it asks, who asked, the votes, what the policies said; and the person's own vote.
import { html, useEffect, useMemo } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { Refused } from "../api/request.js";
import { names } from "../api/directory.js";
import { describe, descriptionOf, forgetDescription, headlineOf } from "../api/descriptions.js";
import { markSeen } from "../api/seen.js";
import { withSignature } from "../api/signed_messages.js";
import { askedBy, credentialOf, intentOf } from "../api/summary.js";
import { alikeWaiting } from "../api/waiting.js";
import { ExportedWords } from "../parts/export.js";
import { Loaded, useLoaded, useRepeated } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Card, Copy, Facts, Heading, Status, Time } from "../parts/texts.js";
import { Value } from "../parts/values.js";
import { to } from "../router.js";
import { WAITING, counted, msOf, sentence, typeInWords, withShortAddresses } from "../words.js";
import { DecisionCard } from "./decision.js";
import { RefusedRequest } from "./refused_request.js";
import { VoteCard } from "./vote.js";

const EVERY_MS = 3000;

/** @param {{id: string}} properties */
export function ActivityScreen({ id }) {
  const activity = useLoaded(async () => (await query("get_activity", { activityId: id })).activity, [id]);
  const directory = useLoaded(names, [id]);
  const state = activity.value && `${activity.value.status} ${activity.value.votes.length}`;
  useEffect(() => {
    forgetDescription(id);
    if (activity.value) describe([activity.value]);
  }, [state]);
  const isOpen = WAITING.includes(activity.value?.status);
  useRepeated(() => isOpen && activity.reload(), EVERY_MS, [isOpen, id]);
  const isMissing = activity.error instanceof Refused && activity.error.status === 404;
  if (isMissing && !activity.value) return html`<${RefusedRequest} id=${id} />`;
  return html`<${Loaded} of=${activity}>${(/** @type {any} */ loaded) => html`
    <${ActivityPage} activity=${loaded} names=${directory.value ?? new Map()} reload=${activity.reload} />`}<//>`;
}

/** @param {{activity: any, names: Map<string, import("../api/directory.js").Named>, reload: () => Promise<void>}} properties */
function ActivityPage({ activity, names, reload }) {
  const asker = askedBy(activity);
  const created = msOf(activity.createdAt);
  return html`
    <${Heading} title=${withShortAddresses(headlineOf(activity))} crumbs=${html`<a href="#/activities">Activities</a>`}
      note=${html`${asker ? html`<a href=${to(["users", asker.userId])}>${asker.userName}</a>` : "The operator of this server"} asked <${Time} ms=${created} />`}>
      <${Status} status=${activity.status} />
    <//>
    <${Alike} activity=${activity} />
    ${activity.failure ? html`<${Notice} kind="bad">${activity.failure.message}<//>` : null}
    <div class="columns activity">
      <div class="stack">
        <${Card} title="What it asks"><${Intent} activity=${activity} names=${names} /><//>
        <${ExportedWords} activity=${activity} />
        ${Object.keys(activity.result).length ? html`<${Card} title="Result"><${Value} value=${resultOf(activity)} names=${names} /><//>` : null}
        <${DecisionCard} activity=${activity} names=${names} />
      </div>
      <div class="stack">
        <${VoteCard} activity=${activity} reload=${reload} />
        <${Votes} votes=${activity.votes} />
        <${Card} title="Details"><${Facts} facts=${[
          ["Type", html`<span title=${activity.type}>${typeInWords(activity.type)}</span>`],
          ["Id", html`<${Copy} text=${activity.id} />`],
          ["Fingerprint", html`<details><summary class="muted">What a vote signs</summary><${Copy} text=${activity.fingerprint} label="fingerprint" /></details>`],
          ["Created", html`<${Time} ms=${created} />`],
          ["Last change", html`<${Time} ms=${msOf(activity.updatedAt)} />`],
        ]} /><//>
      </div>
    </div>`;
}

/** Signatures as one text, besides their parts. @param {any} activity */
function resultOf(activity) {
  const [result] = Object.values(activity.result);
  const signWith = String(intentOf(activity).signWith ?? "");
  if (!activity.type.includes("_SIGN_RAW_PAYLOAD")) return result;
  return result.signatures ? { signatures: result.signatures.map((/** @type {any} */ each) => withSignature(each, signWith)) } : withSignature(result, signWith);
}

/** In the server's words, where it has them; the parameters as they were sent are beneath. */
/** @param {{activity: any, names: Map<string, import("../api/directory.js").Named>}} properties */
function Intent({ activity, names }) {
  const intent = intentOf(activity);
  const described = descriptionOf(activity.id);
  useEffect(() => void (described && markSeen(activity.id)), [described]);
  if (!Object.keys(intent).length) return html`<p class="muted">It has no parameters.</p>`;
  if (!described?.facts.length) return html`<${Value} value=${intent} names=${names} />`;
  return html`
    ${described.cautions.map((caution) => html`<${Notice} kind="warn">${capitalized(caution)}<//>`)}
    <${Facts} facts=${described.facts.map(({ label, text }) => [labelInWords(label), factText(text, names)])} />
    <details><summary class="muted small">Parameters as sent</summary><div class="sent"><${Value} value=${intent} names=${names} /></div></details>`;
}

/** A changed line of a policy begins with + or -. @param {string} text @param {Map<string, import("../api/directory.js").Named>} names */
function factText(text, names) {
  if (!text.includes("\n") && !/^[+-] /.test(text)) return html`<${Value} value=${text} names=${names} />`;
  return html`<pre class="code diff">${text.split("\n").map((line) => html`<span class=${line[0] === "+" ? "added" : line[0] === "-" ? "removed" : ""}>${line}${"\n"}</span>`)}</pre>`;
}

/** "user, api key, name" is "User, API key, name". @param {string} label */
function labelInWords(label) {
  return label.split(", ").map((part, index) => (index ? sentence(part).replace(/^[A-Z](?=[a-z-])/, (first) => first.toLowerCase()) : sentence(part.replace(/ ids?$/, (end) => (end === " ids" ? "s" : ""))))).join(", ");
}

/** @param {string} text */
function capitalized(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Two that ask the same at different times may be one mistake. @param {{activity: any}} properties */
function Alike({ activity }) {
  const others = alikeWaiting(activity);
  if (!others.length || !WAITING.includes(activity.status)) return null;
  return html`<${Notice} kind="warn">${counted(others.length, "other activity that waits asks", "other activities that wait ask")} for exactly the same; only the time differs:
    ${" "}${others.slice(0, 3).map((other, index) => html`${index ? ", " : ""}<a href=${to(["activities", other.id])}>asked <${Time} ms=${msOf(other.createdAt)} /></a>`)}.
    If both are approved, both are executed.<//>`;
}

/** @param {{votes: any[]}} properties */
function Votes({ votes }) {
  const inOrder = useMemo(() => [...votes].sort((one, other) => msOf(one.createdAt) - msOf(other.createdAt)), [votes]);
  if (!votes.length) return html`<${Card} title="Votes"><p class="muted">There are none: the operator of this server did it, at its machine. No policy decided it.</p><//>`;
  return html`<${Card} title="Votes"><ul class="stack tight">${inOrder.map((vote, index) => html`<li class="row spread" key=${vote.id}>
    <span class="prose"><a href=${to(["users", vote.userId])}>${vote.user.userName}</a>
      ${" "}<span class="muted">${vote.selection === "VOTE_SELECTION_REJECTED" ? "rejected it" : index === 0 ? "submitted it, which counts as an approval," : "approved it"} ${credentialOf(vote)}</span></span>
    <span class="muted small"><${Time} ms=${msOf(vote.createdAt)} /></span></li>`)}</ul><//>`;
}
