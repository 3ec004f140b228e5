// The activities that wait, and which of them wait for the person who is logged in. Asked again every few seconds.
import { computed, signal } from "../vendor/preact.js";
import { WAITING } from "../words.js";
import { query } from "./calls.js";

/** The newest hundred that wait, newest first; null until they are known. */
/** @type {import("../vendor/preact.js").Signal<any[] | null>} */
export const waiting = signal(null);

/** How many of them this person may approve. */
export const waitingForMe = computed(() => (waiting.value ?? []).filter((activity) => activity.canApprove).length);

export async function loadWaiting() {
  const { activities } = await query("list_activities", { filterByStatus: WAITING, paginationOptions: { limit: "100" } });
  const isSame = JSON.stringify(activities) === JSON.stringify(waiting.peek());
  if (!isSame) waiting.value = activities;
}
