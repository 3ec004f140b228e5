// Wallets: all of them; one with its accounts, whose addresses can be copied and shown as a QR code.
import { html, useState } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { AddressCode, CodeButton } from "../parts/address_code.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Notice, messageOf } from "../parts/notice.js";
import { ActionLink, useRecords } from "../parts/records.js";
import { SearchedTable, Table } from "../parts/table.js";
import { Badge, Card, Copy, Empty, Facts, Heading, Time } from "../parts/texts.js";
import { place, to } from "../router.js";
import { msOf, valueInWords } from "../words.js";

const PAGE = 100;

export function WalletsScreen() {
  const [, id] = place.value.parts;
  return id ? html`<${WalletPage} key=${id} id=${id} />` : html`<${WalletList} />`;
}

/** @param {{record: any}} properties */
export function Origin({ record }) {
  if (!record.imported && !record.exported) return null;
  return html`<span class="tags">${record.imported ? html`<${Badge}>Imported<//>` : null}${record.exported ? html`<${Badge} kind="warn">Exported<//>` : null}</span>`;
}

function WalletList() {
  const wallets = useRecords("list_wallets", "wallets");
  return html`<${Heading} title="Wallets" note="A wallet is a mnemonic; its accounts are addresses derived from it.">
      <${ActionLink} operation="create_wallet">New wallet<//>
    <//>
    <${Loaded} of=${wallets}>${(/** @type {any[]} */ rows) => html`<${SearchedTable} title="Wallets" caption="Wallets" rows=${rows}
      idOf=${(/** @type {any} */ wallet) => wallet.walletId} href=${(/** @type {any} */ wallet) => to(["wallets", wallet.walletId])}
      textOf=${(/** @type {any} */ wallet) => `${wallet.walletName} ${wallet.walletId}`}
      empty=${html`<${Empty} title="No wallets">Create a wallet to get addresses that can sign.<//>`}
      columns=${[
        { title: "Name", cell: (/** @type {any} */ wallet) => wallet.walletName },
        { title: "Id", cell: (/** @type {any} */ wallet) => html`<${Copy} text=${wallet.walletId} short />` },
        { title: "Secret", cell: (/** @type {any} */ wallet) => html`<${Origin} record=${wallet} />` },
        { title: "Created", cell: (/** @type {any} */ wallet) => html`<${Time} ms=${msOf(wallet.createdAt)} />`, tight: true },
      ]} />`}<//>`;
}

/** @param {{id: string}} properties */
function WalletPage({ id }) {
  const wallet = useLoaded(async () => (await query("get_wallet", { walletId: id })).wallet, [id]);
  return html`<${Loaded} of=${wallet}>${(/** @type {any} */ record) => html`
    <${Heading} title=${record.walletName} crumbs=${html`<a href="#/wallets">Wallets</a>`} note=${html`<${Origin} record=${record} />`}>
      <${ActionLink} operation="create_wallet_accounts" fields=${{ walletId: id }}>Add accounts<//>
      <${ActionLink} operation="update_wallet" fields=${{ walletId: id, walletName: record.walletName }}>Rename<//>
      <${ActionLink} operation="delete_wallets" fields=${{ walletIds: id }} danger>Delete<//>
    <//>
    <${Accounts} walletId=${id} />
    <${Card} title="Details"><${Facts} facts=${[
      ["Id", html`<${Copy} text=${id} />`],
      ["Created", html`<${Time} ms=${msOf(record.createdAt)} />`],
      ["Changed", html`<${Time} ms=${msOf(record.updatedAt)} />`],
    ]} /><//>`}<//>`;
}

/** The accounts of a wallet, a page at a time. @param {{walletId: string}} properties */
function Accounts({ walletId }) {
  const [older, setOlder] = useState(/** @type {any[]} */ ([]));
  const [isFull, setFull] = useState(true);
  const [problem, setProblem] = useState("");
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const page = async (/** @type {string | undefined} */ after) =>
    (await query("list_wallet_accounts", { walletId, paginationOptions: { limit: String(PAGE), ...(after ? { after } : {}) } })).accounts;
  const first = useLoaded(() => page(undefined), [walletId]);
  const accounts = [...(first.value ?? []), ...older];
  const more = async () => {
    try {
      const next = await page(accounts.at(-1)?.walletAccountId);
      setOlder([...older, ...next]);
      setFull(next.length === PAGE);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return html`<${Card} title="Accounts" flush><${Loaded} of=${first}>${() => (accounts.length ? html`
    <${Table} caption="Accounts" isPage rows=${accounts} idOf=${(/** @type {any} */ account) => account.walletAccountId} columns=${[
      { title: "Address", cell: (/** @type {any} */ account) => html`<${Copy} text=${account.address} label="address" />` },
      { title: "Name", cell: (/** @type {any} */ account) => account.name ?? "" },
      { title: "Format", cell: (/** @type {any} */ account) => valueInWords(account.addressFormat, "ADDRESS_FORMAT_") },
      { title: "Path", cell: (/** @type {any} */ account) => html`<code>${account.path}</code>`, tight: true },
      { title: "QR", cell: (/** @type {any} */ account) => html`<${CodeButton} address=${account.address} onShow=${() => setShown(account)} />`, tight: true },
    ]} />
    ${isFull && accounts.length >= PAGE ? html`<div class="more"><button type="button" class="button" onClick=${more}>Show more accounts</button></div>` : null}
    ${problem ? html`<div class="body"><${Notice} kind="bad">${problem}<//></div>` : null}`
    : html`<${Empty} title="No accounts">Add accounts to get addresses.<//>`)}<//><//>
    ${shown ? html`<${AddressCode} title=${valueInWords(shown.addressFormat, "ADDRESS_FORMAT_")} address=${shown.address} onClose=${() => setShown(null)} />` : null}`;
}
