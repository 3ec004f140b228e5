// Who sent a request that a development server saw: the user whose credential is in its stamp.
import { to } from "../router.js";
import { listed } from "./calls.js";
import { control } from "./development.js";

/** @typedef {any} Request as /dev/v1/requests has it */
/** @typedef {{name: string, href: string}} Sender */

/** Users by public key, and by the credential id of a passkey. @returns {Promise<Map<string, Sender>>} */
export async function senders() {
  const { users } = await listed("list_users").catch(() => ({ users: [] }));
  return new Map(users.flatMap((/** @type {any} */ user) => {
    const sender = { name: user.userName, href: to(["users", user.userId]) };
    return [...user.apiKeys.map((/** @type {any} */ each) => [each.credential.publicKey, sender]), ...user.authenticators.map((/** @type {any} */ each) => [each.credentialId, sender])];
  }));
}

/** @param {Request} request @param {Map<string, Sender>} known @returns {Sender | undefined} */
export function senderOf(request, known) {
  const [stamp] = request.stamps;
  return stamp && (known.get(stamp.publicKey) ?? known.get(stamp.credentialId));
}

/** The request that was refused with a decision of this id, while the server keeps it. @param {string} id @returns {Promise<Request | undefined>} */
export async function requestDecided(id) {
  if (document.documentElement.dataset.mode !== "dev") return undefined;
  const { requests } = await control("requests").catch(() => ({ requests: [] }));
  return requests.find((/** @type {Request} */ request) => decidedId(request) === id);
}

/** The id under which the decision on a denied request is on record; "" for others. @param {Request} request */
export function decidedId({ answer }) {
  try {
    return JSON.parse(answer).details?.find((/** @type {any} */ each) => each.activityId)?.activityId ?? "";
  } catch {
    return "";
  }
}
