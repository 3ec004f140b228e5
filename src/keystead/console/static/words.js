// The API's names in words: statuses, types, fields, times. Pure.

/** ACTIVITY_TYPE_SIGN_TRANSACTION_V2 is "Sign transaction". @param {string} type */
export function typeInWords(type) {
  return sentence(type.replace(/^ACTIVITY_TYPE_/, "").replace(/_V\d+$/, ""));
}

/** SOME_NAME is "Some name". @param {string} name */
export function sentence(name) {
  const words = name.toLowerCase().replaceAll("_", " ").replace(/\bsub organization/g, "sub-organization").replace(/\b(api|cidr|ip|otp|id|mfa|url|sms|oidc|uuid)\b/g, (word) => word.toUpperCase());
  return words.replace(/\boauth2?\b/g, (word) => (word === "oauth2" ? "OAuth2" : "OAuth")).replace(/^./, (first) => first.toUpperCase());
}

/** walletName is "Wallet name". @param {string} field */
export function fieldInWords(field) {
  return sentence(field.replace(/([a-z0-9])([A-Z])/g, "$1_$2"));
}

/** The last part of an enum's value: EFFECT_ALLOW of Effect is "Allow". @param {string} value @param {string} [prefix] */
export function valueInWords(value, prefix = "") {
  return sentence(value.startsWith(prefix) ? value.slice(prefix.length) : value);
}

/** @type {Record<string, [string, string]>} the word and the kind of badge */
const STATUSES = {
  ACTIVITY_STATUS_COMPLETED: ["Completed", "good"],
  ACTIVITY_STATUS_CONSENSUS_NEEDED: ["Waits for approval", "warn"],
  ACTIVITY_STATUS_AUTHENTICATORS_NEEDED: ["Waits for proofs", "warn"],
  ACTIVITY_STATUS_REJECTED: ["Rejected", "bad"],
  ACTIVITY_STATUS_FAILED: ["Failed", "bad"],
  ACTIVITY_STATUS_PENDING: ["Pending", "accent"],
  ACTIVITY_STATUS_CREATED: ["Created", "accent"],
};
export const WAITING = ["ACTIVITY_STATUS_CONSENSUS_NEEDED", "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"];

/** Whether others must approve it first. @param {{status: string}} activity */
export function isWaiting({ status }) {
  return WAITING.includes(status);
}

/** @param {string} status @returns {{text: string, kind: string}} */
export function statusInWords(status) {
  const [text, kind] = STATUSES[status] ?? [valueInWords(status, "ACTIVITY_STATUS_"), ""];
  return { text, kind };
}
export const ALL_STATUSES = Object.keys(STATUSES);

/** Milliseconds of a time as the API gives it. @param {{seconds: string, nanos: string} | string | undefined} time */
export function msOf(time) {
  if (time === undefined) return 0;
  return typeof time === "string" ? Date.parse(time) : Number(time.seconds) * 1000 + Math.floor(Number(time.nanos) / 1e6);
}

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
/** @type {[number, Intl.RelativeTimeFormatUnit][]} */
const UNITS = [[86_400_000, "day"], [3_600_000, "hour"], [60_000, "minute"], [1000, "second"]];

/** @param {number} ms @param {number} nowMs */
export function timeInWords(ms, nowMs) {
  const difference = ms - nowMs;
  if (Math.abs(difference) > 30 * 86_400_000) return new Date(ms).toLocaleDateString("en", { dateStyle: "medium" });
  for (const [size, unit] of UNITS) {
    if (Math.abs(difference) >= size) return RELATIVE.format(Math.round(difference / size), unit);
  }
  return "now";
}

/** Day and time; the year where it is another. @param {number} ms */
export function dateInWords(ms) {
  const date = new Date(ms);
  const year = date.getFullYear() === new Date().getFullYear() ? {} : { year: /** @type {const} */ ("numeric") };
  return date.toLocaleString("en", { month: "short", day: "numeric", ...year, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

/** @param {string} text @param {number} [kept] characters at each end */
export function shortened(text, kept = 6) {
  return text.length > 2 * kept + 3 ? `${text.slice(0, kept + 2)}…${text.slice(-kept)}` : text;
}

/** A sentence whose addresses and ids are shortened, for lists. @param {string} text */
export function withShortAddresses(text) {
  return text.replace(/\b(\w{32,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/g, (word) => shortened(word));
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
