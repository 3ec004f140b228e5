// The networks that the organization's requests may come from. The lists of single API keys are not shown here.
import { html } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { ActionLink } from "../parts/records.js";
import { Table } from "../parts/table.js";
import { Card, Empty, Time } from "../parts/texts.js";

export function IpAllowlist() {
  const loaded = useLoaded(async () => (await query("get_ip_allowlist")).allowlist, []);
  return html`<${Card} title="IP allow-list" flush actions=${html`<${ActionLink} operation="set_ip_allowlist">${loaded.value?.rules.length ? "Replace" : "Set"}<//>
      ${loaded.value?.rules.length ? html`<${ActionLink} operation="remove_ip_allowlist" danger>Remove<//>` : null}`}>
    <${Loaded} of=${loaded}>${(/** @type {any} */ list) => (list.rules.length ? html`
      <div class="body"><p>${list.enabled ? "Requests from other addresses are refused." : html`<span class="badge plain warn">Off</span> Requests from other addresses are answered, too.`}</p></div>
      <${Table} caption="IP allow-list" rows=${list.rules} idOf=${(/** @type {any} */ rule) => rule.cidr} columns=${[
        { title: "Network", cell: (/** @type {any} */ rule) => html`<code>${rule.cidr}</code>` },
        { title: "Label", cell: (/** @type {any} */ rule) => rule.label ?? "" },
        { title: "Added", cell: (/** @type {any} */ rule) => html`<${Time} ms=${Number(rule.createdAt)} />`, tight: true },
      ]} />` : html`<${Empty} title="No IP allow-list">Requests may come from every address.<//>`)}<//><//>`;
}
