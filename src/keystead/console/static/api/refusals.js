// Refused requests on record: looking through pages of them until enough fit.
import { msOf, operationInWords } from "../words.js";
import { query } from "./calls.js";

const PAGE = 100;
const PAGES_AT_ONCE = 10;

/** @typedef {any} Refusal as list_refused_requests has it */
/** @typedef {{userId: string, words: string[], fromMs: number, untilMs: number}} Filter `userId`: "" for anybody */
/** @typedef {{found: Refusal[], looked: number, last: Refusal | null, isOver: boolean}} Search `last`: the oldest that was looked at */

/** @type {Search} */
export const NO_REFUSALS = { found: [], looked: 0, last: null, isOver: false };

/** Looks further back, until `wanted` more fit or ten pages were looked at. @param {Filter} filter @param {Search} before @param {number} wanted @returns {Promise<Search>} */
export async function lookAtRefusals(filter, before, wanted) {
  let { found, looked, last, isOver } = before;
  const enough = found.length + wanted;
  for (let page = 0; page < PAGES_AT_ONCE && !isOver && found.length < enough; page += 1) {
    const { refusedRequests } = await query("list_refused_requests", { paginationOptions: { limit: String(PAGE), ...(last ? { after: last.id } : {}) } });
    looked += refusedRequests.length;
    last = refusedRequests.at(-1) ?? last;
    isOver = refusedRequests.length < PAGE || msOf(last.at) < filter.fromMs;
    found = [...found, ...refusedRequests.filter((/** @type {Refusal} */ refusal) => fits(refusal, filter))];
  }
  return { found, looked, last, isOver };
}

/** @param {Refusal} refusal @param {Filter} filter */
function fits(refusal, { userId, words, fromMs, untilMs }) {
  const at = msOf(refusal.at);
  if (at < fromMs || at >= untilMs || (userId && refusal.userId !== userId)) return false;
  const text = [refusal.userName, refusal.operation, operationInWords(refusal.operation), refusal.status, refusal.code, refusal.reason, refusal.requestId, refusal.activityId, refusal.address].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}
