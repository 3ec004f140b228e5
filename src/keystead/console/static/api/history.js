// The newest activities as numbers over time. Pure, but for `newest`.
import { msOf } from "../words.js";
import { query } from "./calls.js";

const PAGE = 100;
const PAGES_MAX = 10;

/** The newest activities, at most a thousand. @returns {Promise<any[]>} */
export async function newest() {
  /** @type {any[]} */
  const found = [];
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const after = found.at(-1)?.id;
    const { activities } = await query("list_activities", { paginationOptions: { limit: String(PAGE), ...(after ? { after } : {}) } });
    found.push(...activities);
    if (!activities.length) break;
  }
  return found;
}

/** @typedef {{startMs: number, label: string, counts: Record<string, number>}} Bucket */

/** The word of an outcome: what a status comes to. @param {string} status */
export function outcomeOf(status) {
  if (status === "ACTIVITY_STATUS_COMPLETED") return "Completed";
  if (status === "ACTIVITY_STATUS_REJECTED") return "Rejected";
  return status === "ACTIVITY_STATUS_FAILED" ? "Failed" : "Waiting";
}
export const OUTCOMES = ["Completed", "Waiting", "Rejected", "Failed"];

const SPANS = [60_000, 300_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000, 7 * 86_400_000];
const [BUCKETS_MIN, BUCKETS_MAX] = [16, 40];

/**
 * @param {any[]} activities
 * @param {(activity: any) => string} wordOf what is counted; "" is not
 * @returns {Bucket[]} oldest first, without gaps
 */
export function buckets(activities, wordOf) {
  if (!activities.length) return [];
  const times = activities.map((activity) => msOf(activity.createdAt)); // a clock that was set back leaves them out of order
  const [last, first] = [Math.max(...times), Math.min(...times)];
  const span = SPANS.find((each) => (last - first) / each < BUCKETS_MAX) ?? 7 * 86_400_000;
  const end = Math.floor(last / span) * span;
  const start = Math.min(Math.floor(first / span) * span, end - (BUCKETS_MIN - 1) * span);
  const made = Array.from({ length: (end - start) / span + 1 }, (_, index) => bucket(start + index * span, span));
  for (const activity of activities) {
    const { counts } = made[Math.floor((msOf(activity.createdAt) - start) / span)];
    const word = wordOf(activity);
    if (word) counts[word] = (counts[word] ?? 0) + 1;
  }
  return made;
}

/** @param {number} startMs @param {number} span @returns {Bucket} */
function bucket(startMs, span) {
  const date = new Date(startMs);
  const label = span < 86_400_000 ? date.toLocaleString("en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false }) : date.toLocaleDateString("en", { month: "short", day: "numeric" });
  return { startMs, label, counts: {} };
}

/** @type {[string, number][]} the word, and below which age */
const AGES = [["under an hour", 3_600_000], ["under a day", 86_400_000], ["under a week", 7 * 86_400_000], ["longer", Infinity]];

/** How many wait since when. @param {any[]} waiting @param {number} nowMs @returns {[string, number][]} */
export function ages(waiting, nowMs) {
  const words = waiting.map((activity) => AGES.find(([, below]) => nowMs - msOf(activity.createdAt) < below)?.[0]);
  return AGES.map(([word]) => [word, words.filter((each) => each === word).length]);
}

/** How many there are of each word, most first. @param {string[]} words @returns {[string, number][]} */
export function tally(words) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one);
}
