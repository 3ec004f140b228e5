// What an activity is about, in a line, from its parameters alone. The server's words are on the activity's page.
import { shortened, typeInWords } from "../words.js";

/** The parameters of an activity. @param {any} activity @returns {Record<string, any>} */
export function intentOf(activity) {
  return Object.values(activity.intent)[0] ?? {};
}

/** The user who asked, as the vote has it; undefined where there is no vote. @param {any} activity */
export function askedBy(activity) {
  return activity.votes[0]?.user;
}

/** The name of who asked. An activity without votes is one of the operator. @param {any} activity @returns {string} */
export function askerName(activity) {
  return activity.votes.length ? askedBy(activity)?.userName ?? "unknown" : "The operator";
}

/** @param {any} activity */
function subjectOf(activity) {
  const intent = intentOf(activity);
  for (const [field, value] of Object.entries(intent)) {
    if (typeof value === "string" && value && /Name$|^label$|^name$/.test(field)) return `'${value}'`;
  }
  for (const value of Object.values(intent)) {
    if (Array.isArray(value) && value.length) return listSubject(value);
  }
  const key = intent.signWith ?? intent.address;
  if (typeof key === "string") return `with ${shortened(key)}`;
  return "";
}

/** @param {any[]} items */
function listSubject(items) {
  const names = items.map((item) => (typeof item === "object" && item ? Object.entries(item).find(([field]) => /Name$/.test(field))?.[1] : null));
  const first = names.find((name) => typeof name === "string");
  if (!first) return items.length > 1 ? `${items.length} items` : "";
  return items.length > 1 ? `'${first}' and ${items.length - 1} more` : `'${first}'`;
}

/** @param {any} activity */
export function titleOf(activity) {
  const subject = subjectOf(activity);
  return `${typeInWords(activity.type)}${subject ? ` ${subject}` : ""}`;
}

/** With what the vote was stamped, by the name that it has now. @param {any} vote */
export function credentialOf(vote) {
  const passkey = vote.user.authenticators.find((/** @type {any} */ each) => each.credential.publicKey === vote.publicKey);
  if (passkey) return `with the passkey “${passkey.authenticatorName}”`;
  const key = vote.user.apiKeys.find((/** @type {any} */ each) => each.credential.publicKey === vote.publicKey);
  if (key) return `with the key “${key.apiKeyName}”`;
  return vote.scheme.includes("WEBAUTHN") ? "with a passkey" : "with an API key";
}

/** Who approved it besides the user who asked. @param {any} activity @returns {any[]} votes */
export function approvalsOf(activity) {
  return activity.votes.slice(1).filter((/** @type {any} */ vote) => vote.selection !== "VOTE_SELECTION_REJECTED");
}

/** @param {any} activity @returns {any[]} votes */
export function rejectionsOf(activity) {
  return activity.votes.filter((/** @type {any} */ vote) => vote.selection === "VOTE_SELECTION_REJECTED");
}
