// Sub-organizations: a page at a time; and one, as its parent's user may read it.
import { html, useState } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Notice, messageOf } from "../parts/notice.js";
import { ActionLink } from "../parts/records.js";
import { Table } from "../parts/table.js";
import { Card, Copy, Empty, Facts, Heading, Time } from "../parts/texts.js";
import { place, refine, to } from "../router.js";
import { msOf, valueInWords } from "../words.js";

const PAGE = 100;
const FILTERS = ["NAME", "USERNAME", "EMAIL", "PHONE_NUMBER", "WALLET_ACCOUNT_ADDRESS", "PUBLIC_KEY", "CREDENTIAL_ID"];

export function SubOrganizationsScreen() {
  const [, id] = place.value.parts;
  return id ? html`<${SubOrganizationPage} key=${id} id=${id} />` : html`<${SubOrganizationList} />`;
}

function SubOrganizationList() {
  const filterType = place.value.parameters.get("by") ?? FILTERS[0];
  const filterValue = place.value.parameters.get("value") ?? "";
  const [sought, setSought] = useState(filterValue);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    refine({ value: sought.trim() });
  };
  return html`<${Heading} title="Sub-organizations" note="Organizations below this one, such as one for each customer. You may read them; their own users decide.">
      <${ActionLink} operation="create_sub_organization">New sub-organization<//>
    <//>
    <section class="card"><header><h2>Sub-organizations</h2>
      <form class="filters" onSubmit=${submit}>
        <select class="input" aria-label="Find by" value=${filterType} onChange=${(/** @type {any} */ event) => refine({ by: event.target.value })}>
          ${FILTERS.map((each) => html`<option value=${each}>${valueInWords(each)}</option>`)}
        </select>
        <input class="input grow" type="search" placeholder="Whole value" aria-label="Value to find" value=${sought} onInput=${(/** @type {any} */ event) => setSought(event.target.value)} />
        <button class="button">Find</button>
      </form></header>
      <${Found} key=${`${filterType} ${filterValue}`} filterType=${filterType} filterValue=${filterValue} /></section>`;
}

/** @param {{filterType: string, filterValue: string}} properties */
function Found({ filterType, filterValue }) {
  const [older, setOlder] = useState(/** @type {any[]} */ ([]));
  const [isFull, setFull] = useState(true);
  const [problem, setProblem] = useState("");
  const page = async (/** @type {string | undefined} */ after) => (await query("list_named_suborgs", {
    ...(filterValue ? { filterType, filterValue } : {}),
    paginationOptions: { limit: String(PAGE), ...(after ? { after } : {}) },
  })).subOrganizations;
  const first = useLoaded(() => page(undefined), [filterType, filterValue]);
  const found = [...(first.value ?? []), ...older];
  const more = async () => {
    try {
      const next = await page(found.at(-1)?.organizationId);
      setOlder([...older, ...next]);
      setFull(next.length === PAGE);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return html`<${Loaded} of=${first}>${() => (found.length ? html`
    <${Table} caption="Sub-organizations" isPage rows=${found} idOf=${(/** @type {any} */ each) => each.organizationId} href=${(/** @type {any} */ each) => to(["sub-organizations", each.organizationId])}
      columns=${[
        { title: "Name", cell: (/** @type {any} */ each) => each.name },
        { title: "Users", cell: (/** @type {any} */ each) => each.userCount.toLocaleString("en"), tight: true },
        { title: "Id", cell: (/** @type {any} */ each) => html`<${Copy} text=${each.organizationId} label="id" short />` },
        { title: "Created", cell: (/** @type {any} */ each) => html`<${Time} ms=${msOf(each.createdAt)} />`, tight: true },
      ]} />
    ${isFull && found.length >= PAGE ? html`<div class="more"><button type="button" class="button" onClick=${more}>Show more</button></div>` : null}
    ${problem ? html`<div class="body"><${Notice} kind="bad">${problem}<//></div>` : null}`
    : html`<${Empty} title=${filterValue ? "Nothing found" : "No sub-organizations"}>${filterValue ? "No sub-organization has exactly this value." : "An application makes one for each person who signs up."}<//>`)}<//>`;
}

/** @param {{id: string}} properties */
function SubOrganizationPage({ id }) {
  const loaded = useLoaded(async () => {
    const ask = (/** @type {string} */ name) => query(name, { organizationId: id });
    const [{ organizationData }, { wallets }] = await Promise.all([ask("get_organization"), ask("list_wallets")]);
    const { name, users, rootQuorum, features } = organizationData;
    return { name, users, wallets, quorum: rootQuorum, features };
  }, [id]);
  return html`<${Heading} title=${loaded.value?.name ?? "Sub-organization"} crumbs=${html`<a href="#/sub-organizations">Sub-organizations</a>`} note=${html`<${Copy} text=${id} />`} />
    <${Loaded} of=${loaded}>${(/** @type {any} */ { users, wallets, quorum, features }) => html`
      <${Card} title="Users" flush><${Table} caption="Users" rows=${users} idOf=${(/** @type {any} */ user) => user.userId} columns=${[
        { title: "Name", cell: (/** @type {any} */ user) => user.userName },
        { title: "E-mail", cell: (/** @type {any} */ user) => user.userEmail ?? "" },
        { title: "Phone number", cell: (/** @type {any} */ user) => user.userPhoneNumber ?? "" },
        { title: "Role", cell: (/** @type {any} */ user) => (quorum.userIds.includes(user.userId) ? "Root quorum" : "") },
      ]} /><//>
      <${Card} title="Wallets" flush>${wallets.length ? html`<${Table} caption="Wallets" rows=${wallets} idOf=${(/** @type {any} */ wallet) => wallet.walletId} columns=${[
        { title: "Name", cell: (/** @type {any} */ wallet) => wallet.walletName },
        { title: "Id", cell: (/** @type {any} */ wallet) => html`<${Copy} text=${wallet.walletId} short />` },
      ]} />` : html`<${Empty} title="No wallets" />`}<//>
      <${Card} title="Details"><${Facts} facts=${[["Root quorum", `${quorum.threshold} of ${quorum.userIds.length}`],
        ["Features", features.map((/** @type {any} */ feature) => valueInWords(feature.name, "FEATURE_NAME_")).join(", ")]]} /><//>`}<//>`;
}
