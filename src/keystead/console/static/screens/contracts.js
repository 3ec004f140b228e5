// Contract interfaces: all of them, and one with its text.
import { html } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { ActionLink, useRecords } from "../parts/records.js";
import { SearchedTable } from "../parts/table.js";
import { Card, Copy, Empty, Facts, Heading, Time } from "../parts/texts.js";
import { place, to } from "../router.js";
import { msOf, valueInWords } from "../words.js";

const ID = "smartContractInterfaceId";

export function ContractsScreen() {
  const [, id] = place.value.parts;
  return id ? html`<${ContractPage} key=${id} id=${id} />` : html`<${ContractList} />`;
}

function ContractList() {
  const contracts = useRecords("list_smart_contract_interfaces", "smartContractInterfaces");
  return html`<${Heading} title="Contract interfaces" note="With a contract's interface, its calls are decoded: policies and this console show the function and its arguments.">
      <${ActionLink} operation="create_smart_contract_interface">New interface<//>
    <//>
    <${Loaded} of=${contracts}>${(/** @type {any[]} */ rows) => html`<${SearchedTable} title="Contract interfaces" caption="Contract interfaces" rows=${rows}
      idOf=${(/** @type {any} */ each) => each[ID]} href=${(/** @type {any} */ each) => to(["contracts", each[ID]])}
      textOf=${(/** @type {any} */ each) => `${each.label} ${each.smartContractAddress} ${each.notes}`}
      empty=${html`<${Empty} title="No contract interfaces">Upload an ABI or IDL to decode calls of a contract.<//>`}
      columns=${[
        { title: "Label", cell: (/** @type {any} */ each) => each.label },
        { title: "Chain", cell: (/** @type {any} */ each) => valueInWords(each.type, "SMART_CONTRACT_INTERFACE_TYPE_") },
        { title: "Address", cell: (/** @type {any} */ each) => html`<${Copy} text=${each.smartContractAddress} label="address" />` },
        { title: "Created", cell: (/** @type {any} */ each) => html`<${Time} ms=${msOf(each.createdAt)} />`, tight: true },
      ]} />`}<//>`;
}

/** @param {{id: string}} properties */
function ContractPage({ id }) {
  const contract = useLoaded(async () => (await query("get_smart_contract_interface", { [ID]: id })).smartContractInterface, [id]);
  return html`<${Loaded} of=${contract}>${(/** @type {any} */ record) => html`
    <${Heading} title=${record.label} crumbs=${html`<a href="#/contracts">Contract interfaces</a>`}>
      <${ActionLink} operation="delete_smart_contract_interface" fields=${{ [ID]: id }} danger>Delete<//>
    <//>
    <${Card} title="Details"><${Facts} facts=${[
      ["Address", html`<${Copy} text=${record.smartContractAddress} label="address" />`],
      ["Chain", valueInWords(record.type, "SMART_CONTRACT_INTERFACE_TYPE_")],
      ["Notes", record.notes],
      ["Id", html`<${Copy} text=${id} />`],
      ["Created", html`<${Time} ms=${msOf(record.createdAt)} />`],
    ]} /><//>
    <${Card} title="Interface"><pre class="long" tabindex="0">${indented(record.smartContractInterface)}</pre><//>`}<//>`;
}

/** @param {string} text */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
