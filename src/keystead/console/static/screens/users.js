// Users: all of them, with those who are invited.
import { html } from "../vendor/preact.js";
import { listed, query } from "../api/calls.js";
import { invitations } from "../api/invitations.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { NewButton, SearchedTable } from "../parts/table.js";
import { Badge, Empty, Heading } from "../parts/texts.js";
import { place, to } from "../router.js";
import { counted } from "../words.js";
import { NewPersonScreen } from "./new_person.js";
import { TagList } from "./tags.js";
import { UserPage } from "./user.js";

export function UsersScreen() {
  const [, id] = place.value.parts;
  if (id === "tags") return html`<${TagList} kind="user" />`;
  if (id === "new") return html`<${NewPersonScreen} />`;
  return id ? html`<${UserPage} key=${id} id=${id} />` : html`<${UserList} />`;
}

function UserList() {
  const loaded = useLoaded(async () => {
    const [{ users }, { configs }, { userTags }, invited] = await Promise.all([
      listed("list_users"), query("get_organization_configs"), listed("list_user_tags"), invitations()]);
    return { users, quorum: configs.quorum, tags: new Map(userTags.map((/** @type {any} */ tag) => [tag.tagId, tag.tagName])), invited };
  }, []);
  return html`<${Heading} title="Users" note="People and programs with credentials in this organization.">
      <a class="button" href="#/users/tags">Tags</a>
      <${NewButton} href="#/users/new" primary>Add a person<//>
    <//>
    <${Loaded} of=${loaded}>${(/** @type {any} */ { users, quorum, tags, invited }) => html`<${SearchedTable} title="Users" caption="Users" rows=${users}
      idOf=${(/** @type {any} */ user) => user.userId} href=${(/** @type {any} */ user) => to(["users", user.userId])}
      textOf=${(/** @type {any} */ user) => `${user.userName} ${user.userEmail ?? ""} ${user.userId} ${user.userTags.map((/** @type {string} */ id) => tags.get(id)).join(" ")}`}
      empty=${html`<${Empty} title="No users" />`}
      columns=${[
        { title: "Name", cell: (/** @type {any} */ user) => user.userName },
        { title: "E-mail", cell: (/** @type {any} */ user) => user.userEmail ?? "" },
        { title: "Role", cell: (/** @type {any} */ user) => (quorum.userIds.includes(user.userId) ? html`<${Badge} kind="accent">Root quorum<//>` : "") },
        { title: "Tags", cell: (/** @type {any} */ user) => (user.userTags.length ? html`<span class="row">${user.userTags.map((/** @type {string} */ id) => html`<${Badge}>${tags.get(id) ?? id}<//>`)}</span>` : "") },
        { title: "Logs in with", cell: (/** @type {any} */ user) => credentialsInWords(user, invited.get(user.userId)) },
      ]} />`}<//>`;
}

/** @param {any} user @param {any} [invitation] of the user */
function credentialsInWords(user, invitation) {
  if (invitation) return html`<${Badge} kind="warn">${invitation.isExpired ? "Invitation expired" : "Invited"}<//>`;
  const parts = [[user.authenticators.length, "passkey"], [user.apiKeys.length, "API key"], [user.oauthProviders.length, "account elsewhere", "accounts elsewhere"], [user.walletAuthenticators.length, "wallet"]];
  return parts.filter(([count]) => count).map(([count, one, many]) => counted(Number(count), String(one), many && String(many))).join(", ") || "nothing yet";
}
