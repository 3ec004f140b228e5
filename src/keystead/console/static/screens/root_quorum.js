// The root quorum: who together may do everything; and the dialogue that changes it.
import { html, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { ApproversDialog } from "../parts/approvers.js";
import { tell } from "../parts/notice.js";
import { Card } from "../parts/texts.js";
import { go, to } from "../router.js";
import { current } from "../session/session.js";
import { isWaiting, namesInWords } from "../words.js";

/** @typedef {{threshold: number, userIds: string[]}} Quorum */

/** What a quorum means. @param {string[]} names @param {number} count */
export function quorumSentence(names, count) {
  if (names.length === 1) return `${names[0]} alone may do everything, whatever policies say.`;
  if (count === 1) return `Each of ${namesInWords(names)} alone may do everything, whatever policies say.`;
  return `${count === names.length ? `${namesInWords(names)} together` : `Any ${count} of ${namesInWords(names)} together`} may do everything, whatever policies say. None of them may alone.`;
}

/** @param {{quorum: Quorum, addedId?: string, onClose: () => void, onChanged: () => void}} properties `addedId`: who is chosen besides */
export function QuorumDialog({ quorum, addedId, onClose, onChanged }) {
  const { userId } = current();
  const ids = [...quorum.userIds, ...(addedId && !quorum.userIds.includes(addedId) ? [addedId] : [])];
  const save = async (/** @type {import("../parts/approvers.js").Approvers} */ { ids, count }) => {
    const activity = await submit("update_root_quorum", "ACTIVITY_TYPE_UPDATE_ROOT_QUORUM", { threshold: count, userIds: ids });
    if (isWaiting(activity)) return go(to(["activities", activity.id]));
    tell("The root quorum was changed.");
    onChanged();
  };
  const caution = (/** @type {import("../parts/approvers.js").Approvers} */ { ids, count }) => {
    if (!ids.includes(userId)) return "You are not among them: you can no longer do everything afterwards.";
    if (count > 1 && count === ids.length) return "All of them must approve: if one loses access, nobody can change this any more. Only the operator of this server could help, with keystead recover.";
    return "";
  };
  return html`<${ApproversDialog} title="Who may do everything together" chosen=${{ ids, count: quorum.threshold }} action="Save" sentence=${quorumSentence} caution=${caution} onSave=${save} onClose=${onClose} />`;
}

/** @param {{quorum: Quorum, names: Map<string, import("../api/directory.js").Named>, onChanged: () => void}} properties */
export function QuorumCard({ quorum, names, onChanged }) {
  const [isOpen, setOpen] = useState(false);
  const members = quorum.userIds.map((id) => names.get(id)?.name ?? "a user who was deleted");
  return html`<${Card} title="Root quorum" actions=${html`<button type="button" class="button" onClick=${() => setOpen(true)}>Change who approves</button>`}>
    <p>${quorumSentence(members, quorum.threshold)}</p>
    <ul class="stack tight">${quorum.userIds.map((id, index) => html`<li key=${id}><a href=${to(["users", id])}>${members[index]}</a></li>`)}</ul>
    <p class="small muted">For less than everything, such as payments alone, write <a href="#/policies/new">a policy</a>: it names its own approvers.</p>
    ${isOpen ? html`<${QuorumDialog} quorum=${quorum} onClose=${() => setOpen(false)} onChanged=${onChanged} />` : null}<//>`;
}
