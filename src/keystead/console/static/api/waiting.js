// The activities that wait, and which of them wait for the person who is logged in. Asked again every few seconds.
import { computed, signal } from "../vendor/preact.js";
import { WAITING } from "../words.js";
import { query } from "./calls.js";

/** The newest hundred that wait, newest first; null until they are known. */
/** @type {import("../vendor/preact.js").Signal<any[] | null>} */
export const waiting = signal(null);

/** How many of them this person may approve. */
export const waitingForMe = computed(() => (waiting.value ?? []).filter((activity) => activity.canApprove).length);

/** The next one, or the one before, that this person may approve; "" for none. @param {string} id @param {1 | -1} by */
export function nextWaiting(id, by) {
  const ids = (waiting.peek() ?? []).filter((activity) => activity.canApprove || activity.id === id).map((activity) => activity.id);
  const at = ids.indexOf(id);
  const next = ids[at < 0 ? 0 : (at + by + ids.length) % ids.length] ?? "";
  return next === id ? "" : next;
}

export async function loadWaiting() {
  const { activities } = await query("list_activities", { filterByStatus: WAITING, paginationOptions: { limit: "100" } });
  const isSame = JSON.stringify(activities) === JSON.stringify(waiting.peek());
  if (!isSame) waiting.value = activities;
}

/** The others that wait and ask for exactly the same: only their time differs. @param {any} activity @returns {any[]} */
export function alikeWaiting(activity) {
  const asked = JSON.stringify([activity.type, activity.intent]);
  return (waiting.value ?? []).filter((other) => other.id !== activity.id && JSON.stringify([other.type, other.intent]) === asked);
}
