// The person's vote on an activity, stamped by a passkey or by the key of the session.
import { html, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { loadWaiting } from "../api/waiting.js";
import { Icon } from "../parts/icons.js";
import { useMyPasskeys } from "../parts/my_passkeys.js";
import { Notice, messageOf, tell } from "../parts/notice.js";
import { Card } from "../parts/texts.js";
import { to } from "../router.js";
import { current } from "../session/session.js";
import { WAITING, statusInWords } from "../words.js";

/** @param {{activity: any, reload: () => Promise<void>}} properties */
export function VoteCard({ activity, reload }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const { userId } = current();
  const passkeys = useMyPasskeys();
  if (!WAITING.includes(activity.status)) return null;
  if (!activity.canApprove && !activity.canReject) {
    return html`<${Notice}>${hasApproved(activity, userId) ? "You have approved. It waits for other users." : "It waits for other users: your vote would not count."}<//>`;
  }
  /** @param {"approve" | "reject"} what @param {string[]} [credentialIds] */
  const vote = async (what, credentialIds) => {
    setBusy(true);
    setProblem("");
    try {
      const type = what === "approve" ? "ACTIVITY_TYPE_APPROVE_ACTIVITY" : "ACTIVITY_TYPE_REJECT_ACTIVITY";
      const changed = await submit(`${what}_activity`, type, { fingerprint: activity.fingerprint }, { credentialIds });
      tell(`${what === "approve" ? "Approved" : "Rejected"}: now ${statusInWords(changed.status).text.toLowerCase()}.`);
      await Promise.all([reload(), loadWaiting().catch(() => undefined)]);
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return html`<${Card} title="Your vote">
    ${activity.canApprove ? html`<div class="stack tight">
      ${passkeys.ids.length ? html`<button type="button" class="button primary wide" disabled=${isBusy} onClick=${() => vote("approve", passkeys.ids)}>
        <${Icon} name="passkey" />Approve with a passkey</button>` : null}
      <button type="button" class=${`button wide ${passkeys.ids.length ? "" : "primary"}`} disabled=${isBusy || passkeys.isLoading} onClick=${() => vote("approve")}>
        <${Icon} name="done" />${passkeys.ids.length ? "Approve with this browser’s key" : "Approve"}</button>
      ${passkeys.canHave ? html`<p class="small muted">You can vote with a passkey once you have one:
        ${" "}<a href=${to(["users", userId])}>add a passkey</a>.</p>` : null}
    </div>` : html`<p class="muted">You have approved. You may still reject it.</p>`}
    ${activity.canReject ? html`<button type="button" class="button danger wide" disabled=${isBusy} onClick=${() => vote("reject")}>
      <${Icon} name="cross" />Reject</button><p class="small muted">One rejection is final.</p>` : null}
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
  <//>`;
}

/** @param {any} activity @param {string} userId */
function hasApproved(activity, userId) {
  return activity.votes.some((/** @type {any} */ vote) => vote.userId === userId && vote.selection === "VOTE_SELECTION_APPROVED");
}
