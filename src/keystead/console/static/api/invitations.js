// Invitations that nobody has accepted yet, by the user whom each lets in.
import { msOf } from "../words.js";
import { listed } from "./calls.js";

/** @typedef {{invitationId: string, userId: string, receiverUserName: string, receiverEmail: string, senderUserId: string, expiresMs: number, isExpired: boolean}} OpenInvitation */

/** Those with a link. @returns {Promise<Map<string, OpenInvitation>>} */
export async function invitations() {
  const { invitations } = await listed("list_invitations");
  return new Map(invitations.filter((/** @type {any} */ each) => each.userId).map((/** @type {any} */ each) => {
    const expiresMs = msOf(each.expiresAt);
    return [each.userId, { ...each, expiresMs, isExpired: expiresMs <= Date.now() }];
  }));
}
