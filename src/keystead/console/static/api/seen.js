// Which activities this tab has shown: several are approved together only after each was looked at.
import { signal } from "../vendor/preact.js";

const NAME = "seenActivities";

/** @type {import("../vendor/preact.js").Signal<Set<string>>} */
export const seen = signal(new Set(JSON.parse(sessionStorage.getItem(NAME) ?? "[]")));

/** @param {string} id */
export function markSeen(id) {
  if (seen.peek().has(id)) return;
  seen.value = new Set([...seen.peek(), id]);
  sessionStorage.setItem(NAME, JSON.stringify([...seen.value]));
}
