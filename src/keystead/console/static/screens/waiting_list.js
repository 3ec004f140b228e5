// The activities that wait for the person, on top of the list; those that were looked at can be approved together.
import { html, useEffect, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { Icon } from "../parts/icons.js";
import { useMyPasskeys } from "../parts/my_passkeys.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { seen } from "../api/seen.js";
import { alikeWaiting, loadWaiting, waiting } from "../api/waiting.js";
import { Confirm } from "../parts/confirm.js";
import { messageOf, tell } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { to } from "../router.js";
import { counted, withShortAddresses } from "../words.js";

/** @param {{columns: import("../parts/table.js").Column[]}} properties */
export function WaitingList({ columns }) {
  const mine = (waiting.value ?? []).filter((activity) => activity.canApprove);
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const [isBusy, setBusy] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const answered = (/** @type {boolean} */ isYes) => {
    setAsked(false);
    if (isYes) approve();
  };
  useEffect(() => void describe(mine), [waiting.value]);
  const selected = mine.filter((activity) => chosen.has(activity.id) && seen.value.has(activity.id));
  const choose = (/** @type {string} */ id, /** @type {boolean} */ isOn) => setChosen(new Set(isOn ? [...chosen, id] : [...chosen].filter((each) => each !== id)));
  const passkeys = useMyPasskeys();
  /** A vote is over one fingerprint, so a passkey is asked for once for each. What was not approved stays selected. @param {string[]} [credentialIds] */
  const approve = async (credentialIds) => {
    setBusy(true);
    const approved = new Set();
    try {
      for (const { id, fingerprint } of selected) {
        await submit("approve_activity", "ACTIVITY_TYPE_APPROVE_ACTIVITY", { fingerprint }, { credentialIds });
        approved.add(id);
      }
      tell(`Approved ${counted(approved.size, "activity", "activities")}.`);
    } catch (error) {
      tell(`Approved ${approved.size} of ${selected.length}, then: ${messageOf(error)}`, "bad");
    } finally {
      setBusy(false);
      setChosen(new Set(selected.map(({ id }) => id).filter((id) => !approved.has(id))));
      await loadWaiting().catch(() => undefined); // the next look comes in seconds
    }
  };
  if (!mine.length) return null;
  const tick = (/** @type {any} */ activity) => html`<input type="checkbox" class="tick" aria-label=${`Select ${headlineOf(activity)}`} disabled=${!seen.value.has(activity.id)}
    title=${seen.value.has(activity.id) ? undefined : "Open it first"} checked=${chosen.has(activity.id)} onChange=${(/** @type {any} */ event) => choose(activity.id, event.target.checked)} />`;
  const [activityColumn, ...others] = columns;
  const isMany = mine.length > 1;
  const marked = [{ ...activityColumn, before: isMany ? tick : undefined, cell: (/** @type {any} */ activity) => html`${activityColumn.cell(activity)}${alikeWaiting(activity).length
    ? html` <span class="badge plain warn">asked ${alikeWaiting(activity).length + 1} times</span>` : null}` }, ...others];
  return html`<section class="card"><header><h2>Waits for you <span class="muted">${mine.length}</span></h2>
      ${selected.length ? html`<div class="row">
        ${passkeys.ids.length ? html`<button type="button" class="button primary" disabled=${isBusy} onClick=${() => approve(passkeys.ids)}><${Icon} name="passkey" />Approve ${selected.length} with a passkey</button>` : null}
        <button type="button" class="button" disabled=${isBusy || passkeys.isLoading} onClick=${() => setAsked(true)}>Approve ${selected.length} with this browser’s key</button></div>` : null}</header>
    ${isMany && !selected.length ? html`<p class="body small muted">Those that you have opened can be selected here and approved together.</p>` : null}
    ${selected.length > 1 && passkeys.ids.length ? html`<p class="body small muted">Each vote has its own stamp: the browser asks for your passkey ${selected.length} times.</p>` : null}
    <${Table} caption="Activities that wait for you" isPage columns=${marked} rows=${mine}
      href=${(/** @type {any} */ activity) => to(["activities", activity.id])} idOf=${(/** @type {any} */ activity) => activity.id} />
    ${isAsked ? html`<${Confirm} title=${`Approve ${counted(selected.length, "activity", "activities")}?`} what=${html`<ul class="stack tight">${selected.map((activity) => html`<li>${withShortAddresses(headlineOf(activity))}</li>`)}</ul>`} action=${`Approve ${selected.length}`}
      note="Approvals cannot be taken back. What has all of its approvals is done at once and cannot be undone." onAnswer=${answered} />` : null}</section>`;
}
