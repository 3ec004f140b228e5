// The server's words for activities, asked for as they are shown and kept.
import { batch, signal } from "../vendor/preact.js";
import { query } from "./calls.js";
import { titleOf } from "./summary.js";

/**
 * @typedef {{activityId: string, headline: string, what: string, recipient: string, amount: string,
 *   facts: {label: string, text: string}[], cautions: string[],
 *   missingApprovals?: {policyId?: string, userIds: string[], count?: number, requiredUserIds?: string[]}[]}} Description
 */

/** One signal for each, so that words that come change their own place alone. */
/** @type {Map<string, import("../vendor/preact.js").Signal<Description | undefined>>} */
const known = new Map();
/** @type {Set<string>} */
const asked = new Set();
const AT_ONCE = 50;

/** Asks for the words of these activities, as far as they are not known. @param {any[]} activities */
export async function describe(activities) {
  const missing = activities.map((activity) => activity.id).filter((id) => !asked.has(id));
  missing.forEach((id) => asked.add(id));
  for (let start = 0; start < missing.length; start += AT_ONCE) {
    const activityIds = missing.slice(start, start + AT_ONCE);
    const answer = await query("describe_activities", { activityIds }).catch(() => null);
    if (!answer) {
      activityIds.forEach((id) => asked.delete(id));
      continue;
    }
    batch(() => answer.activityDescriptions.forEach((/** @type {Description} */ each) => (signalOf(each.activityId).value = each)));
  }
}

/** After a vote the words of an activity that waits are others. @param {string} id */
export function forgetDescription(id) {
  asked.delete(id);
}

/** @param {string} id @returns {Description | undefined} */
export function descriptionOf(id) {
  return signalOf(id).value;
}

/** @param {string} id */
function signalOf(id) {
  const found = known.get(id) ?? signal(/** @type {Description | undefined} */ (undefined));
  known.set(id, found);
  return found;
}

/** One line: the server's, or one from the parameters until that is there. @param {any} activity */
export function headlineOf(activity) {
  return descriptionOf(activity.id)?.headline ?? titleOf(activity);
}
