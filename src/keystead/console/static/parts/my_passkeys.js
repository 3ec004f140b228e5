// The passkeys of the person who is logged in, as far as this page can use them.
import { query } from "../api/calls.js";
import { canUsePasskeys } from "../session/passkeys.js";
import { current } from "../session/session.js";
import { useLoaded } from "./loaded.js";

/** @returns {{ids: string[], isLoading: boolean, canHave: boolean}} `ids`: credential ids. `canHave`: none yet, and this page can make one */
export function useMyPasskeys() {
  const { userId } = current();
  const me = useLoaded(async () => (await query("get_user", { userId })).user, [userId]);
  const ids = canUsePasskeys() ? (me.value?.authenticators ?? []).map((/** @type {any} */ each) => each.credentialId) : [];
  return { ids, isLoading: me.isLoading, canHave: Boolean(me.value) && !ids.length && canUsePasskeys() };
}
