// The people of the organization: its users without those that programs act as, and who has not joined yet.
import { listed } from "./calls.js";
import { invitations } from "./invitations.js";

/** @typedef {{id: string, name: string, hasJoined: boolean}} Person */

/** @returns {Promise<Person[]>} by name */
export async function people() {
  const [{ users }, { authProxyConfigs }, invited] = await Promise.all([listed("list_users"), listed("list_auth_proxy_configs"), invitations()]);
  const proxies = new Set(authProxyConfigs.map((/** @type {any} */ proxy) => proxy.userId));
  return users.filter((/** @type {any} */ user) => !proxies.has(user.userId))
    .map((/** @type {any} */ user) => ({ id: user.userId, name: user.userName, hasJoined: !invited.has(user.userId) }))
    .sort((/** @type {Person} */ one, /** @type {Person} */ other) => one.name.localeCompare(other.name));
}
