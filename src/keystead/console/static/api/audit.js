// What an auditor asks of the record: kinds of activities, and looking through pages until enough fit.
import { msOf, typeInWords } from "../words.js";
import { query } from "./calls.js";
import { OF_OPERATOR, operations } from "./catalogue.js";
import { describe, headlineOf } from "./descriptions.js";
import { approvalsOf, askerName, credentialOf, rejectionsOf } from "./summary.js";

/** @type {Record<string, [string, RegExp]>} words, and the types that are meant */
export const QUESTIONS = {
  exports: ["Who exported a key", /_EXPORT_/],
  signatures: ["What was signed", /_SIGN_/],
  rules: ["Who changed the rules", /_POLIC|ROOT_QUORUM|_FEATURE|SESSION_PROFILE|AUTH_PROXY|RECOVER_ORG/],
  people: ["Who changed people and credentials", /_USER|API_KEY|AUTHENTICATOR|OAUTH|INVITATION|RECOVER/],
  keys: ["Who made, imported or deleted keys", /WALLET|PRIVATE_KEY/],
  logins: ["Who logged in", /LOGIN|_AUTH$|_AUTH_V|SESSION(_V\d+)?$|_OTP/],
};

const PAGE = 100;
const PAGES_AT_ONCE = 10;

/** The activity types, of every version, that a question is about; none for an unknown one. @param {string} question */
export async function typesOf(question) {
  const [, about] = QUESTIONS[question] ?? [];
  if (!about) return [];
  const types = [...(await operations()).flatMap(({ activityTypes }) => activityTypes), ...OF_OPERATOR].filter((type) => about.test(type));
  return question === "keys" ? types.filter((type) => !/_EXPORT_|_SIGN_|TAG/.test(type)) : question === "people" ? types.filter((type) => !/LOGIN/.test(type)) : types;
}

/**
 * @typedef {{types: string[], status: string, userId: string, words: string[], fromMs: number, untilMs: number}} Filter `userId`: who asked
 *   or voted; "" for anybody
 * @typedef {{found: any[], looked: number, last: any, isOver: boolean}} Search `last`: the oldest activity that was looked at
 */

/** @type {Search} */
export const NOTHING = { found: [], looked: 0, last: null, isOver: false };

/**
 * Looks further back, until `wanted` more fit or ten pages were looked at.
 * @param {Filter} filter @param {Search} before @param {number} wanted
 * @returns {Promise<Search>}
 */
export async function lookFurther(filter, before, wanted) {
  let { found, looked, last, isOver } = before;
  const enough = found.length + wanted;
  for (let page = 0; page < PAGES_AT_ONCE && !isOver && found.length < enough; page += 1) {
    const { activities } = await query("list_activities", {
      ...(filter.types.length ? { filterByType: filter.types } : {}),
      ...(filter.status ? { filterByStatus: [filter.status] } : {}),
      paginationOptions: { limit: String(PAGE), ...(last ? { after: last.id } : {}) },
    });
    await describe(activities);
    looked += activities.length;
    last = activities.at(-1) ?? last;
    isOver = !activities.length || msOf(last.createdAt) < filter.fromMs;
    found = [...found, ...activities.filter((/** @type {any} */ activity) => fits(activity, filter))];
  }
  return { found, looked, last, isOver };
}

/** @param {any} activity @param {Filter} filter */
function fits(activity, { userId, words, fromMs, untilMs }) {
  const at = msOf(activity.createdAt);
  if (at < fromMs || at >= untilMs) return false;
  if (userId && !activity.votes.some((/** @type {any} */ vote) => vote.userId === userId)) return false;
  const text = `${headlineOf(activity)} ${typeInWords(activity.type)} ${activity.id} ${JSON.stringify(activity.intent)}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The activities as comma-separated values. A text that a spreadsheet would compute begins with an apostrophe. @param {any[]} activities */
export function csvOf(activities) {
  const rows = activities.map((activity) => [
    new Date(msOf(activity.createdAt)).toISOString(), headlineOf(activity), activity.status.replace("ACTIVITY_STATUS_", ""),
    askerName(activity), activity.votes[0] ? credentialOf(activity.votes[0]) : "",
    approvalsOf(activity).map((vote) => vote.user.userName).join("; "), rejectionsOf(activity).map((vote) => vote.user.userName).join("; "),
    activity.type, activity.id, activity.fingerprint,
  ]);
  const titles = ["time", "activity", "status", "asked by", "credential", "approved by", "rejected by", "type", "id", "fingerprint"];
  const cell = (/** @type {string} */ text) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  return [titles, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
}
