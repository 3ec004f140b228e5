// The activities that wait for the person, on top of the list; those that were looked at can be approved together.
import { html, useEffect, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { Icon } from "../parts/icons.js";
import { useMyPasskeys } from "../parts/my_passkeys.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { seen } from "../api/seen.js";
import { alikeWaiting, loadWaiting, waiting } from "../api/waiting.js";
import { messageOf, tell } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { to } from "../router.js";
import { counted } from "../words.js";

/** @param {{columns: import("../parts/table.js").Column[]}} properties */
export function WaitingList({ columns }) {
  const mine = (waiting.value ?? []).filter((activity) => activity.canApprove);
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const [isBusy, setBusy] = useState(false);
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
  const [activityColumn, ...others] = columns;
  const marked = [{ ...activityColumn, cell: (/** @type {any} */ activity) => html`${activityColumn.cell(activity)}${alikeWaiting(activity).length
    ? html` <span class="badge plain warn">asked ${alikeWaiting(activity).length + 1} times</span>` : null}` }, ...others];
  const select = {
    title: "Select",
    cell: (/** @type {any} */ { id, ...activity }) => (seen.value.has(id)
      ? html`<input type="checkbox" class="tick" aria-label=${`Select ${headlineOf({ id, ...activity })}`} checked=${chosen.has(id)} onChange=${(/** @type {any} */ event) => choose(id, event.target.checked)} />`
      : html`<span class="small muted">open it first</span>`),
    tight: true,
  };
  return html`<section class="card"><header><h2>Waits for you <span class="muted">${mine.length}</span></h2>
      ${selected.length ? html`<div class="row">
        ${passkeys.ids.length ? html`<button type="button" class="button primary" disabled=${isBusy} onClick=${() => approve(passkeys.ids)}><${Icon} name="passkey" />Approve ${selected.length} with a passkey</button>` : null}
        <button type="button" class="button" disabled=${isBusy || passkeys.isLoading} onClick=${() => approve()}>Approve ${selected.length} with this browser’s key</button></div>` : null}</header>
    ${selected.length > 1 && passkeys.ids.length ? html`<p class="body small muted">Each vote has its own stamp: the browser asks for your passkey ${selected.length} times.</p>` : null}
    <${Table} caption="Activities that wait for you" columns=${mine.length > 1 ? [...marked, select] : marked} rows=${mine}
      href=${(/** @type {any} */ activity) => to(["activities", activity.id])} idOf=${(/** @type {any} */ activity) => activity.id} /></section>`;
}
