// Names for identifiers: users, tags, policies, wallets and keys of the organization.
import { to } from "../router.js";
import { listed } from "./calls.js";

/** @typedef {{name: string, what: string, href: string}} Named */

/** @type {[string, string, string, string, string, string][]} query, member, id, name, what, screen */
const LISTS = [
  ["list_users", "users", "userId", "userName", "User", "users"],
  ["list_user_tags", "userTags", "tagId", "tagName", "User tag", "users/tags"],
  ["list_policies", "policies", "policyId", "policyName", "Policy", "policies"],
  ["list_wallets", "wallets", "walletId", "walletName", "Wallet", "wallets"],
  ["list_private_keys", "privateKeys", "privateKeyId", "privateKeyName", "Private key", "private-keys"],
  ["list_private_key_tags", "privateKeyTags", "tagId", "tagName", "Private key tag", "private-keys/tags"],
  ["list_smart_contract_interfaces", "smartContractInterfaces", "smartContractInterfaceId", "label", "Contract interface", "contracts"],
];

/** Names by id. A list that this person may not read is left out. @returns {Promise<Map<string, Named>>} */
export async function names() {
  const found = await Promise.all(LISTS.map(async ([query, member, id, name, what, screen]) => {
    const answer = await listed(query).catch(() => ({}));
    return (answer[member] ?? []).map((/** @type {any} */ record) =>
      /** @type {[string, Named]} */ ([record[id], { name: record[name], what, href: to([...screen.split("/"), record[id]]) }]));
  }));
  return new Map(found.flat());
}

/** The records whose ids are in a text, each once. @param {string} text @param {Map<string, Named>} names @returns {[string, Named][]} */
export function namedIn(text, names) {
  const ids = new Set(text.match(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g));
  return [...ids].flatMap((id) => {
    const named = names.get(id);
    return named ? [/** @type {[string, Named]} */ ([id, named])] : [];
  });
}
