// Activities and refused requests as numbers over time, which the server counts. Pure, but for `history`.
import { msOf, typeInWords } from "../words.js";
import { query } from "./calls.js";
import { control } from "./development.js";

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];

/** The periods to choose from: words, and the size and number of the columns. @type {Record<string, [string, number, number]>} */
export const PERIODS = {
  hour: ["Last hour", MINUTE_MS, 60], day: ["Last 24 hours", HOUR_MS, 24], week: ["Last 7 days", 6 * HOUR_MS, 28], month: ["Last 30 days", DAY_MS, 30],
  quarter: ["Last 90 days", 3 * DAY_MS, 30], year: ["Last 12 months", 7 * DAY_MS, 52],
};
export const USUAL_PERIOD = "day";

/** @typedef {{startMs: number, endMs: number, label: string, counts: Record<string, number>}} Bucket */
/** @typedef {{activityType: string, status: string, count: number}} Counted */
/** @typedef {{startMs: number, endMs: number, activities: Counted[], refusedRequests: number}} Period */

/** The server's time: that of a development server can be moved. */
async function nowMs() {
  if (document.documentElement.dataset.mode !== "dev") return Date.now();
  return control("clock").then(({ nowMs }) => Number(nowMs), () => Date.now());
}

/** What the server counted, oldest first. @param {string} name of a period @returns {Promise<Period[]>} */
export async function history(name) {
  const [, size, number] = PERIODS[name] ?? PERIODS[USUAL_PERIOD];
  const boundsMs = boundsOf(await nowMs(), size, number);
  const { periods } = await query("count_activities", { boundsMs });
  return periods.map((/** @type {any} */ period, /** @type {number} */ index) => ({ startMs: boundsMs[index], endMs: boundsMs[index + 1], ...period }));
}

/** Whole minutes, hours and days of this place, the last one with now in it. @param {number} now @param {number} size @param {number} number */
function boundsOf(now, size, number) {
  const offset = new Date(now).getTimezoneOffset() * MINUTE_MS;
  const day = Math.min(size, DAY_MS); // weeks end today
  const end = Math.floor((now - offset) / day) * day + day + offset;
  return Array.from({ length: number + 1 }, (_, index) => end - (number - index) * size);
}

/** The word of an outcome: what a status comes to. @param {string} status */
export function outcomeOf(status) {
  if (status === "ACTIVITY_STATUS_COMPLETED") return "Completed";
  if (status === "ACTIVITY_STATUS_REJECTED") return "Rejected";
  return status === "ACTIVITY_STATUS_FAILED" ? "Failed" : "Waiting";
}
export const OUTCOMES = ["Completed", "Waiting", "Rejected", "Failed"];

/** @param {Period[]} periods @param {(counted: Counted) => string} wordOf what is counted; "" is not @returns {Bucket[]} */
export function buckets(periods, wordOf) {
  return periods.map((period) => bucket(period, tallied(period.activities, wordOf)));
}

/** @param {Period[]} periods @returns {Bucket[]} */
export function refusals(periods) {
  return periods.map((period) => bucket(period, { Refused: period.refusedRequests }));
}

/** @param {Period} period @param {Record<string, number>} counts @returns {Bucket} */
function bucket({ startMs, endMs }, counts) {
  return { startMs, endMs, label: labelOf(startMs, endMs), counts };
}

/** @param {number} startMs @param {number} endMs */
function labelOf(startMs, endMs) {
  const date = new Date(startMs);
  if (endMs - startMs >= DAY_MS) return date.toLocaleDateString("en", { month: "short", day: "numeric" });
  const time = date.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return endMs - startMs > HOUR_MS ? `${date.toLocaleDateString("en", { month: "short", day: "numeric" })}, ${time}` : time;
}

/** @param {Counted[]} activities @param {(counted: Counted) => string} wordOf */
function tallied(activities, wordOf) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const counted of activities) {
    const word = wordOf(counted);
    if (word) counts[word] = (counts[word] ?? 0) + counted.count;
  }
  return counts;
}

/** How many there are of each type in words, most first. @param {Period[]} periods @returns {[string, number][]} */
export function byType(periods) {
  const counts = tallied(periods.flatMap(({ activities }) => activities), ({ activityType }) => typeInWords(activityType));
  return Object.entries(counts).sort(([, one], [, other]) => other - one);
}

/** @type {[string, number][]} the word, and below which age */
const AGES = [["under an hour", HOUR_MS], ["under a day", DAY_MS], ["under a week", 7 * DAY_MS], ["longer", Infinity]];

/** How many wait since when. @param {any[]} waiting @param {number} nowMs @returns {[string, number][]} */
export function ages(waiting, nowMs) {
  const words = waiting.map((activity) => AGES.find(([, below]) => nowMs - msOf(activity.createdAt) < below)?.[0]);
  return AGES.map(([word]) => [word, words.filter((each) => each === word).length]);
}
