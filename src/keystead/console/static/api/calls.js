// Queries and submissions of the person who is logged in.
import { current, logOut } from "../session/session.js";
import { stampByKey } from "../session/keys.js";
import { stampByPasskey } from "../session/passkeys.js";
import { askAboutLockout } from "./question.js";
import { Refused, send } from "./request.js";

/** The operations that can lock their sender out by an IP allow-list, each with the member of the query that asks the server. @type {Record<string, string>} */
const LOCKING = { set_ip_allowlist: "setIpAllowlist", remove_ip_allowlist: "removeIpAllowlist", approve_activity: "approveActivity" };

/**
 * Asks a query, such as `list_wallets`.
 * @param {string} name
 * @param {Record<string, unknown>} parameters without organizationId
 * @returns {Promise<any>}
 */
export async function query(name, parameters = {}) {
  const { organizationId, key } = current();
  const body = JSON.stringify({ organizationId, ...parameters });
  return guarded(async () => send(`/public/v1/query/${name}`, body, await stampByKey(key, body)));
}

/**
 * Submits an activity. `credentialIds`: a passkey of these stamps it, instead of the session's key. The person is asked
 * before it locks them out by an IP allow-list.
 * @param {string} name the operation, such as `create_wallet`
 * @param {string} type such as ACTIVITY_TYPE_CREATE_WALLET
 * @param {Record<string, unknown>} parameters
 * @param {{credentialIds?: string[]}} how
 * @returns {Promise<any>} the activity
 */
export async function submit(name, type, parameters, { credentialIds } = {}) {
  const { refusal } = name in LOCKING ? await query("check_ip_allowlist", { [LOCKING[name]]: parameters }) : {};
  if (refusal && !(await askAboutLockout(refusal))) throw new Error("Not sent: it would have locked you out.");
  const { organizationId, key } = current();
  const body = JSON.stringify({ type, timestampMs: String(Date.now()), organizationId, parameters });
  const path = `/public/v1/submit/${name}`;
  const answer = credentialIds
    ? await send(path, body, await stampByPasskey(body, credentialIds))
    : await guarded(async () => send(path, body, await stampByKey(key, body)));
  forgetLists();
  return answer.activity;
}

/**
 * The answer of a list query, asked once until something changes here or a screen forgets it.
 * @param {string} name
 * @returns {Promise<any>}
 */
export function listed(name) {
  let answer = lists.get(name);
  if (!answer) {
    answer = query(name);
    answer.catch(() => lists.delete(name));
    lists.set(name, answer);
  }
  return answer;
}

/** @type {Map<string, Promise<any>>} */
const lists = new Map();

export function forgetLists() {
  lists.clear();
}

/**
 * A key that the server no longer knows ends the session; every other refusal is the caller's to show.
 * @param {() => Promise<any>} ask
 */
async function guarded(ask) {
  try {
    return await ask();
  } catch (refused) {
    if (refused instanceof Refused && refused.status === 401) await logOut(`The session has ended: ${refused.message}`);
    throw refused;
  }
}
