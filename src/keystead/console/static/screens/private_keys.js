// Private keys: all of them; one with its addresses, which can be copied and shown as a QR code.
import { html, useState } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { names } from "../api/directory.js";
import { FundDialog, FundButton } from "../parts/funding.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { ActionLink, useRecords } from "../parts/records.js";
import { SearchedTable, Table } from "../parts/table.js";
import { Badge, Card, Copy, Empty, Facts, Heading, Time } from "../parts/texts.js";
import { place, to } from "../router.js";
import { msOf, valueInWords } from "../words.js";
import { TagList } from "./tags.js";
import { Origin } from "./wallets.js";

export function PrivateKeysScreen() {
  const [, id] = place.value.parts;
  if (id === "tags") return html`<${TagList} kind="private_key" />`;
  return id ? html`<${PrivateKeyPage} key=${id} id=${id} />` : html`<${PrivateKeyList} />`;
}

function PrivateKeyList() {
  const keys = useRecords("list_private_keys", "privateKeys");
  return html`<${Heading} title="Private keys" note="Keys without a mnemonic.">
      <a class="button" href="#/private-keys/tags">Tags</a>
      <${ActionLink} operation="create_private_keys">New private key<//>
    <//>
    <${Loaded} of=${keys}>${(/** @type {any[]} */ rows) => html`<${SearchedTable} title="Private keys" caption="Private keys" rows=${rows}
      idOf=${(/** @type {any} */ key) => key.privateKeyId} href=${(/** @type {any} */ key) => to(["private-keys", key.privateKeyId])}
      textOf=${(/** @type {any} */ key) => `${key.privateKeyName} ${key.privateKeyId} ${key.addresses.map((/** @type {any} */ each) => each.address).join(" ")}`}
      empty=${html`<${Empty} title="No private keys">Most organizations need no private keys, because the accounts of wallets can sign.<//>`}
      columns=${[
        { title: "Name", cell: (/** @type {any} */ key) => key.privateKeyName },
        { title: "Curve", cell: (/** @type {any} */ key) => valueInWords(key.curve, "CURVE_"), tight: true },
        { title: "Addresses", cell: (/** @type {any} */ key) => html`<ul>${key.addresses.map((/** @type {any} */ each) => html`<li><${Copy} text=${each.address} short label="address" /></li>`)}</ul>` },
        { title: "Secret", cell: (/** @type {any} */ key) => html`<${Origin} record=${key} />` },
        { title: "Created", cell: (/** @type {any} */ key) => html`<${Time} ms=${msOf(key.createdAt)} />`, tight: true },
      ]} />`}<//>`;
}

/** @param {{id: string}} properties */
function PrivateKeyPage({ id }) {
  const loaded = useLoaded(async () => {
    const [{ privateKey }, directory] = await Promise.all([query("get_private_key", { privateKeyId: id }), names()]);
    return { key: privateKey, directory };
  }, [id]);
  return html`<${Loaded} of=${loaded}>${(/** @type {any} */ { key, directory }) => html`
    <${Heading} title=${key.privateKeyName} crumbs=${html`<a href="#/private-keys">Private keys</a>`} note=${html`<${Origin} record=${key} />`}>
      <${ActionLink} operation="delete_private_keys" fields=${{ privateKeyIds: id }} danger>Delete<//>
    <//>
    <${Addresses} addresses=${key.addresses} />
    <${Card} title="Details"><${Facts} facts=${[
      ["Id", html`<${Copy} text=${id} />`],
      ["Curve", valueInWords(key.curve, "CURVE_")],
      ["Public key", html`<${Copy} text=${key.publicKey} label="public key" />`],
      ["Tags", key.privateKeyTags.length ? html`<span class="tags">${key.privateKeyTags.map((/** @type {string} */ tag) => html`<${Badge}>${directory.get(tag)?.name ?? tag}<//>`)}</span>` : null],
      ["Created", html`<${Time} ms=${msOf(key.createdAt)} />`],
    ]} /><//>`}<//>`;
}

/** @param {{addresses: any[]}} properties */
function Addresses({ addresses }) {
  const [shown, setShown] = useState(/** @type {any} */ (null));
  return html`<${Card} title="Addresses" flush>${addresses.length ? html`<${Table} caption="Addresses" rows=${addresses} idOf=${(/** @type {any} */ each) => each.address} columns=${[
      { title: "Address", cell: (/** @type {any} */ each) => html`<${Copy} text=${each.address} label="address" />` },
      { title: "Format", cell: (/** @type {any} */ each) => valueInWords(each.format, "ADDRESS_FORMAT_") },
      { title: "Receive", cell: (/** @type {any} */ each) => html`<${FundButton} address=${each.address} onShow=${() => setShown(each)} />`, tight: true },
    ]} />` : html`<${Empty} title="No addresses">This key was created without an address format.<//>`}<//>
    ${shown ? html`<${FundDialog} title=${`Fund this key on ${valueInWords(shown.format, "ADDRESS_FORMAT_")}`} address=${shown.address} onClose=${() => setShown(null)} />` : null}`;
}
