// Wallets: all of them; one with its accounts, whose addresses can be copied, named and funded.
import { html, useState } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { FundDialog, FundButton } from "../parts/funding.js";
import { ExportWallet } from "../parts/export.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Notice, messageOf } from "../parts/notice.js";
import { ActionLink, useRecords } from "../parts/records.js";
import { Rename } from "../parts/rename.js";
import { NewButton, SearchedTable, Table } from "../parts/table.js";
import { Badge, Card, Copy, Empty, Facts, Heading, Time } from "../parts/texts.js";
import { place, to } from "../router.js";
import { msOf, valueInWords } from "../words.js";
import { ImportWalletScreen, NewWalletScreen } from "./new_wallet.js";

const PAGE = 100;

export function WalletsScreen() {
  const [, id] = place.value.parts;
  if (id === "new") return html`<${NewWalletScreen} />`;
  if (id === "import") return html`<${ImportWalletScreen} />`;
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
      <a class="button" href="#/wallets/import">Import</a>
      <${NewButton} href="#/wallets/new" primary>New wallet<//>
    <//>
    <${Loaded} of=${wallets}>${(/** @type {any[]} */ rows) => html`<${SearchedTable} title="Wallets" caption="Wallets" rows=${rows}
      idOf=${(/** @type {any} */ wallet) => wallet.walletId} href=${(/** @type {any} */ wallet) => to(["wallets", wallet.walletId])}
      textOf=${(/** @type {any} */ wallet) => `${wallet.walletName} ${wallet.walletId}`}
      empty=${html`<${Empty} title="No wallets" action=${html`<${NewButton} href="#/wallets/new" primary>New wallet<//>`}>A wallet has addresses, which can be funded and which sign.<//>`}
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
  const [opened, setOpened] = useState(/** @type {"" | "name" | "export"} */ (""));
  const close = () => setOpened("");
  return html`<${Loaded} of=${wallet}>${(/** @type {any} */ record) => html`
    <${Heading} title=${record.walletName} crumbs=${html`<a href="#/wallets">Wallets</a>`} note=${html`<${Origin} record=${record} />`}>
      <${ActionLink} operation="create_wallet_accounts" fields=${{ walletId: id }}>Add accounts<//>
      <button type="button" class="button" onClick=${() => setOpened("name")}>Rename</button>
      <button type="button" class="button" onClick=${() => setOpened("export")}>Export</button>
      <${ActionLink} operation="delete_wallets" fields=${{ walletIds: id }} danger>Delete<//>
    <//>
    <${Accounts} walletId=${id} />
    <${Card} title="Details"><${Facts} facts=${[
      ["Id", html`<${Copy} text=${id} />`],
      ["Created", html`<${Time} ms=${msOf(record.createdAt)} />`],
      ["Changed", html`<${Time} ms=${msOf(record.updatedAt)} />`],
    ]} /><//>
    ${opened === "name" ? html`<${Rename} title="Rename the wallet" name=${record.walletName} operation="update_wallet" parametersOf=${(/** @type {string} */ walletName) => ({ walletId: id, walletName })} onClose=${close} onRenamed=${wallet.reload} />` : null}
    ${opened === "export" ? html`<${ExportWallet} walletId=${id} name=${record.walletName} onClose=${() => (close(), wallet.reload())} />` : null}`}<//>`;
}

/** The accounts of a wallet, a page at a time. @param {{walletId: string}} properties */
function Accounts({ walletId }) {
  const [older, setOlder] = useState(/** @type {any[]} */ ([]));
  const [isFull, setFull] = useState(true);
  const [problem, setProblem] = useState("");
  const [funded, setFunded] = useState(/** @type {any} */ (null));
  const [named, setNamed] = useState(/** @type {any} */ (null));
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
      { title: "Name", cell: (/** @type {any} */ account) => html`<span class="row">${account.name ? html`<span class="wrap">${account.name}</span>` : null}<button type="button" class="button plain tiny" aria-label=${account.name ? `Rename ${account.name}` : `Add a name to ${account.address}`} onClick=${() => setNamed(account)}>${account.name ? "Rename" : "Add a name"}</button></span>` },
      { title: "Chain", cell: (/** @type {any} */ account) => valueInWords(account.addressFormat, "ADDRESS_FORMAT_") },
      { title: "Path", cell: (/** @type {any} */ account) => html`<code>${account.path}</code>`, tight: true },
      { title: "Receive", cell: (/** @type {any} */ account) => html`<${FundButton} address=${account.address} onShow=${() => setFunded(account)} />`, tight: true },
    ]} />
    ${isFull && accounts.length >= PAGE ? html`<div class="more"><button type="button" class="button" onClick=${more}>Show more accounts</button></div>` : null}
    ${problem ? html`<div class="body"><${Notice} kind="bad">${problem}<//></div>` : null}`
    : html`<${Empty} title="No accounts">Add accounts to get addresses.<//>`)}<//><//>
    ${funded ? html`<${FundDialog} title=${`Fund this account on ${valueInWords(funded.addressFormat, "ADDRESS_FORMAT_")}`} address=${funded.address} onClose=${() => setFunded(null)} />` : null}
    ${named ? html`<${Rename} title="Name the account" name=${named.name ?? ""} operation="update_wallet_account_name" parametersOf=${(/** @type {string} */ name) => ({ walletAccountId: named.walletAccountId, name })} onClose=${() => setNamed(null)} onRenamed=${() => (setOlder([]), setFull(true), first.reload())} />` : null}`;
}
