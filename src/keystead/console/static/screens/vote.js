// The person's vote on an activity, stamped by a passkey or by the key of the session.
import { html, useEffect, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { headlineOf } from "../api/descriptions.js";
import { loadWaiting, nextWaiting } from "../api/waiting.js";
import { Confirm } from "../parts/confirm.js";
import { Icon } from "../parts/icons.js";
import { useMyPasskeys } from "../parts/my_passkeys.js";
import { Notice, messageOf, tell } from "../parts/notice.js";
import { useShortcuts } from "../parts/shortcuts.js";
import { Card } from "../parts/texts.js";
import { go, to } from "../router.js";
import { current } from "../session/session.js";
import { isWaiting, statusInWords, withShortAddresses } from "../words.js";

/** @typedef {"approve" | "reject"} Choice */

/** @param {{activity: any, reload: () => Promise<void>}} properties */
export function VoteCard({ activity, reload }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [asked, setAsked] = useState(/** @type {Choice | null} */ (null));
  const [isWanted, setWanted] = useState(false); // by the key, before it is known which passkeys there are
  const { userId } = current();
  const passkeys = useMyPasskeys();
  const may = { approve: isWaiting(activity) && activity.canApprove, reject: isWaiting(activity) && activity.canReject };
  const step = (/** @type {1 | -1} */ by) => {
    const next = nextWaiting(activity.id, by);
    if (next) go(to(["activities", next]));
  };
  const approve = () => (passkeys.ids.length ? vote("approve", passkeys.ids) : setAsked("approve"));
  useShortcuts({
    a: () => may.approve && !isBusy && setWanted(true),
    r: () => may.reject && !isBusy && setAsked("reject"),
    j: () => step(1),
    k: () => step(-1),
  });
  useEffect(() => {
    if (!isWanted || passkeys.isLoading) return;
    setWanted(false);
    approve();
  }, [isWanted, passkeys.isLoading]);
  if (!isWaiting(activity)) return null;
  if (!may.approve && !may.reject) {
    return html`<${Notice}>${hasApproved(activity, userId) ? "You have approved. It waits for other people." : "It waits for other people: your vote would not count."}<//>`;
  }
  /** @param {Choice} what @param {string[]} [credentialIds] */
  const vote = async (what, credentialIds) => {
    setBusy(true);
    setProblem("");
    try {
      const next = nextWaiting(activity.id, 1);
      const type = what === "approve" ? "ACTIVITY_TYPE_APPROVE_ACTIVITY" : "ACTIVITY_TYPE_REJECT_ACTIVITY";
      const changed = await submit(`${what}_activity`, type, { fingerprint: activity.fingerprint }, { credentialIds });
      tell(`${what === "approve" ? "Approved" : "Rejected"}: now ${statusInWords(changed.status).text.toLowerCase()}.`);
      await Promise.all([reload(), loadWaiting().catch(() => undefined)]);
      if (next) go(to(["activities", next]));
      else /** @type {HTMLElement | null} */ (document.querySelector("main h1"))?.focus();
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  const answered = (/** @type {boolean} */ isYes) => {
    setAsked(null);
    if (isYes && asked) vote(asked);
  };
  return html`<${Card} title="Your vote">
    ${may.approve ? html`<div class="stack tight">
      ${passkeys.ids.length ? html`<button type="button" class="button primary wide" aria-keyshortcuts="a" disabled=${isBusy} onClick=${approve}>
        <${Icon} name="passkey" />Approve with a passkey</button>` : null}
      <button type="button" class=${`button wide ${passkeys.ids.length ? "" : "primary"}`} aria-keyshortcuts=${passkeys.ids.length ? undefined : "a"} disabled=${isBusy || passkeys.isLoading} onClick=${() => setAsked("approve")}>
        <${Icon} name="done" />${passkeys.ids.length ? "Approve with this browser’s key" : "Approve"}</button>
      ${passkeys.canHave ? html`<p class="small muted">You can vote with a passkey once you have one:
        ${" "}<a href=${to(["users", userId])}>add a passkey</a>.</p>` : null}
    </div>` : html`<p class="muted">You have approved. You may still reject it.</p>`}
    ${may.reject ? html`<button type="button" class="button danger wide" aria-keyshortcuts="r" disabled=${isBusy} onClick=${() => setAsked("reject")}>
      <${Icon} name="cross" />Reject</button><p class="small muted">One rejection is final.</p>` : null}
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
    ${asked ? html`<${Confirm} title=${asked === "approve" ? "Approve this?" : "Reject this?"} what=${withShortAddresses(headlineOf(activity))} isDanger=${asked === "reject"} onAnswer=${answered}
      note=${asked === "approve" ? "An approval cannot be taken back. Once the last one is there, this is done at once and cannot be undone." : "One rejection is final and cannot be undone: it would have to be asked for again."}
      action=${asked === "approve" ? "Approve" : "Reject"} />` : null}
  <//>`;
}

/** @param {any} activity @param {string} userId */
function hasApproved(activity, userId) {
  return activity.votes.some((/** @type {any} */ vote) => vote.userId === userId && vote.selection === "VOTE_SELECTION_APPROVED");
}
