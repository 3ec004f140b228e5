// Tags of users or of private keys, with what carries each.
import { html } from "../vendor/preact.js";
import { listed } from "../api/calls.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { ActionLink } from "../parts/records.js";
import { SearchedTable } from "../parts/table.js";
import { Copy, Empty, Heading, Time } from "../parts/texts.js";
import { msOf } from "../words.js";

/** The two kinds of tags. */
const KINDS = {
  user: {
    title: "User tags", parent: html`<a href="#/users">Users</a>`, query: "list_user_tags", member: "userTags",
    records: "list_users", recordMember: "users", tagsOf: "userTags", name: "userName", carriers: "Users", named: "userTagName", update: "userTagId", remove: "userTagIds",
  },
  private_key: {
    title: "Private key tags", parent: html`<a href="#/private-keys">Private keys</a>`, query: "list_private_key_tags", member: "privateKeyTags",
    records: "list_private_keys", recordMember: "privateKeys", tagsOf: "privateKeyTags", name: "privateKeyName", carriers: "Private keys", named: "newPrivateKeyTagName", update: "privateKeyTagId", remove: "privateKeyTagIds",
  },
};

/** @param {{kind: keyof typeof KINDS}} properties */
export function TagList({ kind }) {
  const of = KINDS[kind];
  const loaded = useLoaded(async () => {
    const [tags, records] = await Promise.all([listed(of.query), listed(of.records)]);
    return tags[of.member].map((/** @type {any} */ tag) => ({
      ...tag,
      carriers: records[of.recordMember].filter((/** @type {any} */ record) => record[of.tagsOf].includes(tag.tagId)).map((/** @type {any} */ record) => record[of.name]),
    }));
  }, [kind]);
  return html`<${Heading} title=${of.title} crumbs=${of.parent} note="Policies can name tags instead of single records.">
      <${ActionLink} operation=${`create_${kind}_tag`}>New tag<//>
    <//>
    <${Loaded} of=${loaded}>${(/** @type {any[]} */ rows) => html`<${SearchedTable} title=${of.title} caption=${of.title} rows=${rows} idOf=${(/** @type {any} */ tag) => tag.tagId}
      textOf=${(/** @type {any} */ tag) => `${tag.tagName} ${tag.tagId} ${tag.carriers.join(" ")}`}
      empty=${html`<${Empty} title="No tags">Create one, then give it to records.<//>`}
      columns=${[
        { title: "Name", cell: (/** @type {any} */ tag) => html`<b>${tag.tagName}</b>` },
        { title: "Id", cell: (/** @type {any} */ tag) => html`<${Copy} text=${tag.tagId} short />` },
        { title: of.carriers, cell: (/** @type {any} */ tag) => tag.carriers.join(", ") || html`<span class="muted">none</span>` },
        { title: "Created", cell: (/** @type {any} */ tag) => html`<${Time} ms=${msOf(tag.createdAt)} />`, tight: true },
        { title: "Change", cell: (/** @type {any} */ tag) => html`<span class="row nowrap">
          <${ActionLink} operation=${`update_${kind}_tag`} fields=${{ [of.update]: tag.tagId, [of.named]: tag.tagName }}>Change<//>
          <${ActionLink} operation=${`delete_${kind}_tags`} fields=${{ [of.remove]: tag.tagId }} danger>Delete<//></span>`, tight: true },
      ]} />`}<//>`;
}
