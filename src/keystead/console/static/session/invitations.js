// The link of an invitation: a key for one new user, which registers a passkey once and does nothing else.
import { send } from "../api/request.js";
import { base64urlOf, bytesOfBase64url, bytesOfHex, hexOf } from "./encoding.js";
import { importKey, makeKeyToHandOver, stampByKey } from "./keys.js";
import { makePasskey } from "./passkeys.js";

/** @typedef {{organizationId: string, key: import("./keys.js").StampingKey}} Invitation of the person who opened the link */
/** @typedef {{organizationName: string, userId: string, userName: string}} Invited */

const [ID_BYTES, PUBLIC_BYTES, PRIVATE_BYTES] = [16, 33, 32];

/**
 * A link to hand over, and the public half of its key. The server gets only that.
 * @param {string} organizationId
 * @returns {Promise<{link: string, publicKey: string}>}
 */
export async function makeInvitationLink(organizationId) {
  const { publicKey, privateKey } = await makeKeyToHandOver();
  const secret = base64urlOf(bytesOfHex(organizationId.replaceAll("-", "") + publicKey + privateKey));
  return { link: `${location.origin}${location.pathname}#invitation=${secret}`, publicKey };
}

/** The invitation in the fragment of an address. @param {string} secret @returns {Promise<Invitation>} */
export async function readInvitation(secret) {
  const hex = hexOf(bytesOfBase64url(secret));
  if (hex.length !== 2 * (ID_BYTES + PUBLIC_BYTES + PRIVATE_BYTES)) throw new Error("This link is not complete. Copy all of it, up to its last character.");
  const [id, keys] = [hex.slice(0, 2 * ID_BYTES), hex.slice(2 * ID_BYTES)];
  const organizationId = id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { organizationId, key: await importKey(keys.slice(0, 2 * PUBLIC_BYTES), keys.slice(2 * PUBLIC_BYTES)) };
}

/** Whom the link lets in, and to what. @param {Invitation} invitation @returns {Promise<Invited>} */
export async function invitedBy({ organizationId, key }) {
  const body = JSON.stringify({ organizationId });
  const who = await send("/public/v1/query/whoami", body, await stampByKey(key, body));
  return { organizationName: who.organizationName, userId: who.userId, userName: who.username };
}

/** Makes a passkey on this device and registers it. The link does nothing afterwards. @param {Invitation} invitation @param {Invited} invited */
export async function acceptInvitation({ organizationId, key }, { userId, userName }) {
  const made = await makePasskey(userName);
  const body = JSON.stringify({
    type: "ACTIVITY_TYPE_RECOVER_USER",
    timestampMs: String(Date.now()),
    organizationId,
    parameters: { userId, authenticator: { authenticatorName: `Passkey of ${location.hostname}`, ...made } },
  });
  await send("/public/v1/submit/recover_user", body, await stampByKey(key, body));
}
