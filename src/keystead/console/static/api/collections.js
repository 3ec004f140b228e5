// Records that have no screen of their own: their lists and what can be done with them, from the catalogue.
import { query } from "./calls.js";
import { operations, recordLists, schemas } from "./catalogue.js";
import { plain } from "./forms.js";

/**
 * @typedef {object} Collection
 * @property {string} name in the address, such as session_profiles
 * @property {string} summary
 * @property {string} idField of a record
 * @property {() => Promise<any[]>} load
 * @property {import("./catalogue.js").Operation[]} creating
 * @property {import("./catalogue.js").Operation[]} changing those that name one record
 */

/** Lists whose records have screens, whose items are not records, or whose records belong to one. */
const SHOWN_ELSEWHERE = new Set([
  "get_active_policies", "get_api_keys", "get_oauth_providers", "get_wallet_authenticators", "list_activities", "list_policies", "list_policy_keywords",
  "list_policy_warnings", "list_private_key_tags", "list_private_keys", "list_smart_contract_interfaces", "list_user_tags",
  "list_named_suborgs", "list_refused_requests", "list_users", "list_velocity_controls", "list_wallet_accounts", "list_wallets",
]);

/** @returns {Promise<Collection[]>} by name */
export async function collections() {
  const [lists, all, definitions] = await Promise.all([recordLists(), operations(), schemas()]);
  const listed = lists.filter((list) => !SHOWN_ELSEWHERE.has(list.query)).map(({ query: name, member, record, summary }) => ({
    name: name.replace(/^(list|get)_/, ""), summary, idField: idFieldOf(record.properties), load: async () => (await query(name))[member],
  }));
  const fields = new Map(all.map((operation) => [operation, Object.keys(plain(operation.parameters, definitions).properties ?? {})]));
  return listed.filter(({ idField }) => idField).map((list) => {
    const one = list.name.replace(/ies$/, "y").replace(/s$/, "");
    return {
      ...list,
      creating: all.filter(({ name }) => name === `create_${one}` || name === `create_${list.name}`),
      changing: all.filter((each) => !/^create_|_login$/.test(each.name) && fields.get(each)?.some((field) => field === list.idField || field === `${list.idField}s`))
        .sort((one, other) => Number(one.name.startsWith("delete_")) - Number(other.name.startsWith("delete_"))),
    };
  }).sort((one, other) => one.name.localeCompare(other.name));
}

/** @param {Record<string, any>} properties of a record */
function idFieldOf(properties) {
  return Object.keys(properties).find((name) => /Id$/.test(name) && name !== "organizationId") ?? "";
}
