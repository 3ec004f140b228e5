// The activities that wait for the person, on top of the list; those that were looked at can be approved together.
import { html, useEffect, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { describe, headlineOf } from "../api/descriptions.js";
import { seen } from "../api/seen.js";
import { loadWaiting, waiting } from "../api/waiting.js";
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
  const approve = async () => {
    setBusy(true);
    let approved = 0;
    try {
      for (const { fingerprint } of selected) {
        await submit("approve_activity", "ACTIVITY_TYPE_APPROVE_ACTIVITY", { fingerprint });
        approved += 1;
      }
      tell(`Approved ${counted(approved, "activity", "activities")}.`);
    } catch (error) {
      tell(`Approved ${approved} of ${selected.length}, then: ${messageOf(error)}`, "bad");
    } finally {
      setBusy(false);
      setChosen(new Set());
      await loadWaiting().catch(() => undefined); // the next look comes in seconds
    }
  };
  if (!mine.length) return null;
  const select = {
    title: "Select",
    cell: (/** @type {any} */ { id, ...activity }) => (seen.value.has(id)
      ? html`<input type="checkbox" class="tick" aria-label=${`Select ${headlineOf({ id, ...activity })}`} checked=${chosen.has(id)} onChange=${(/** @type {any} */ event) => choose(id, event.target.checked)} />`
      : html`<span class="small muted">open it first</span>`),
    tight: true,
  };
  return html`<section class="card"><header><h2>Waits for you <span class="muted">${mine.length}</span></h2>
      ${selected.length ? html`<button type="button" class="button" disabled=${isBusy} onClick=${approve}>Approve ${selected.length} with this browser’s key</button>` : null}</header>
    <${Table} caption="Activities that wait for you" columns=${mine.length > 1 ? [...columns, select] : columns} rows=${mine}
      href=${(/** @type {any} */ activity) => to(["activities", activity.id])} idOf=${(/** @type {any} */ activity) => activity.id} /></section>`;
}
