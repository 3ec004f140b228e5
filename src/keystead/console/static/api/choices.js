// Which fields of forms name a record of the organization, so that it can be chosen by its name.
import { listed } from "./calls.js";

/** @type {Record<string, [string, string, string, string]>} query, member, id, name */
const LISTS = {
  user: ["list_users", "users", "userId", "userName"],
  userTag: ["list_user_tags", "userTags", "tagId", "tagName"],
  wallet: ["list_wallets", "wallets", "walletId", "walletName"],
  privateKey: ["list_private_keys", "privateKeys", "privateKeyId", "privateKeyName"],
  privateKeyTag: ["list_private_key_tags", "privateKeyTags", "tagId", "tagName"],
  policy: ["list_policies", "policies", "policyId", "policyName"],
  smartContractInterface: ["list_smart_contract_interfaces", "smartContractInterfaces", "smartContractInterfaceId", "label"],
};

/** More records than this are not offered one by one. */
const OFFERED_MAX = 500;

/** What a field of this name chooses from; "" if it is free text. @param {string} field */
export function chosenFrom(field) {
  const kind = { userTags: "userTag", privateKeyTags: "privateKeyTag", policyIds: "policy" }[/** @type {string} */ (field)] ?? field.replace(/Ids?$/, "");
  return field !== kind && kind in LISTS ? kind : "";
}

/** @param {string} kind @returns {Promise<{id: string, name: string}[] | null>} null: too many to offer */
export async function choices(kind) {
  const [query, member, id, name] = LISTS[kind];
  const records = (await listed(query))[member];
  if (records.length > OFFERED_MAX) return null;
  return records.map((/** @type {any} */ record) => ({ id: record[id], name: record[name] }));
}
