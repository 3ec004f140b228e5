// The networks that the organization's requests may come from. The lists of single API keys are not shown here.
import { html } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { ActionLink } from "../parts/records.js";
import { Table } from "../parts/table.js";
import { Card, Time } from "../parts/texts.js";

export function IpAllowlist() {
  const loaded = useLoaded(async () => {
    const [{ allowlist }, { address }] = await Promise.all([query("get_ip_allowlist"), query("check_ip_allowlist")]);
    return { ...allowlist, address };
  }, []);
  return html`<${Card} title="IP allow-list" flush actions=${html`<${ActionLink} operation="set_ip_allowlist">${loaded.value?.rules.length ? "Replace" : "Set"}<//>
      ${loaded.value?.rules.length ? html`<${ActionLink} operation="remove_ip_allowlist" danger>Remove<//>` : null}`}>
    <${Loaded} of=${loaded}>${(/** @type {any} */ list) => html`
      <div class="body"><p>${inWords(list)}</p>
        ${list.address ? html`<p class="small muted">Your address, as the server sees it: <code>${list.address}</code></p>` : null}</div>
      ${list.rules.length ? html`<${Table} caption="IP allow-list" rows=${list.rules} idOf=${(/** @type {any} */ rule) => rule.cidr} columns=${[
        { title: "Network", cell: (/** @type {any} */ rule) => html`<code>${rule.cidr}</code>` },
        { title: "Label", cell: (/** @type {any} */ rule) => rule.label ?? "" },
        { title: "Added", cell: (/** @type {any} */ rule) => html`<${Time} ms=${Number(rule.createdAt)} />`, tight: true },
      ]} />` : null}`}<//><//>`;
}

/** @param {any} list */
function inWords({ rules, enabled }) {
  if (!rules.length && !enabled) return "There is none: requests may come from every address.";
  return enabled ? "Requests from other addresses are refused." : html`<span class="badge plain warn">Off</span> Requests from other addresses are answered, too.`;
}
