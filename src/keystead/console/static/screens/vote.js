// The person's vote on an activity, stamped by a passkey or by the key of the session.
import { html, useState } from "../vendor/preact.js";
import { query, submit } from "../api/calls.js";
import { loadWaiting } from "../api/waiting.js";
import { Icon } from "../parts/icons.js";
import { useLoaded } from "../parts/loaded.js";
import { Notice, messageOf, tell } from "../parts/notice.js";
import { Card } from "../parts/texts.js";
import { to } from "../router.js";
import { canUsePasskeys } from "../session/passkeys.js";
import { current } from "../session/session.js";
import { WAITING, statusInWords } from "../words.js";

/** @param {{activity: any, reload: () => Promise<void>}} properties */
export function VoteCard({ activity, reload }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const { userId } = current();
  const me = useLoaded(async () => (await query("get_user", { userId })).user, [userId]);
  if (!WAITING.includes(activity.status)) return null;
  if (!activity.canApprove && !activity.canReject) {
    return html`<${Notice}>${hasApproved(activity, userId) ? "You have approved. It waits for others." : "It waits for others: your vote would not count."}<//>`;
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
  const passkeys = canUsePasskeys() ? (me.value?.authenticators ?? []).map((/** @type {any} */ each) => each.credentialId) : [];
  return html`<${Card} title="Your vote">
    ${activity.canApprove ? html`<div class="stack tight">
      ${passkeys.length ? html`<button type="button" class="button primary wide" disabled=${isBusy} onClick=${() => vote("approve", passkeys)}>
        <${Icon} name="passkey" />Approve with a passkey</button>` : null}
      <button type="button" class=${`button wide ${passkeys.length ? "" : "primary"}`} disabled=${isBusy || me.isLoading} onClick=${() => vote("approve")}>
        <${Icon} name="done" />${passkeys.length ? "Approve with this browser’s key" : "Approve"}</button>
      ${me.value && !passkeys.length && canUsePasskeys() ? html`<p class="small muted">You can vote with a passkey once you have one:
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
