// The organization itself: its root quorum, its features and its IP allow-list.
import { html } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { names } from "../api/directory.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { ActionLink } from "../parts/records.js";
import { Table } from "../parts/table.js";
import { Card, Copy, Empty, Facts, Heading } from "../parts/texts.js";
import { current } from "../session/session.js";
import { valueInWords } from "../words.js";
import { IpAllowlist } from "./ip_allowlist.js";
import { QuorumCard } from "./root_quorum.js";

export function OrganizationScreen() {
  const loaded = useLoaded(async () => {
    const [{ configs }, directory] = await Promise.all([query("get_organization_configs"), names()]);
    return { configs, directory };
  }, []);
  const { organizationId, organizationName } = current();
  return html`<${Heading} title=${organizationName} note="Settings of the whole organization.">
      <${ActionLink} operation="update_organization_name" fields=${{ organizationName }}>Rename<//>
    <//>
    <${Loaded} of=${loaded}>${(/** @type {any} */ { configs, directory }) => html`
      <div class="columns"><div class="stack">
        <${QuorumCard} quorum=${configs.quorum} names=${directory} onChanged=${loaded.reload} />
        <${Card} title="Features" flush actions=${html`<${ActionLink} operation="set_organization_feature">Turn on a feature<//>`}>
          ${configs.features.length ? html`<${Table} caption="Features" rows=${configs.features} idOf=${(/** @type {any} */ feature) => feature.name} columns=${[
            { title: "Feature", cell: (/** @type {any} */ feature) => valueInWords(feature.name, "FEATURE_NAME_") },
            { title: "Value", cell: (/** @type {any} */ feature) => feature.value || html`<span class="muted">on</span>` },
            { title: "Turn off", cell: (/** @type {any} */ feature) => html`<${ActionLink} operation="remove_organization_feature" fields=${{ name: feature.name }} danger>Turn off<//>`, tight: true },
          ]} />` : html`<${Empty} title="No features are turned on">A feature is, for example, logins with a code by e-mail.<//>`}
        <//>
        <${IpAllowlist} />
      </div>
      <${Card} title="Details"><${Facts} facts=${[["Name", organizationName], ["Id", html`<${Copy} text=${organizationId} />`]]} /><//></div>`}<//>`;
}
