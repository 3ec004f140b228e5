// The organization itself: its root quorum, its features and its IP allow-list.
import { html } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { names } from "../api/directory.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { ActionLink } from "../parts/records.js";
import { Table } from "../parts/table.js";
import { Card, Copy, Empty, Facts, Heading } from "../parts/texts.js";
import { Value } from "../parts/values.js";
import { current } from "../session/session.js";
import { valueInWords } from "../words.js";
import { IpAllowlist } from "./ip_allowlist.js";

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
        <${Card} title="Root quorum" actions=${html`<${ActionLink} operation="update_root_quorum" fields=${{ threshold: String(configs.quorum.threshold), userIds: configs.quorum.userIds.join(",") }}>Change<//>`}>
          <p>${quorumInWords(configs.quorum)}</p>
          <${Value} value=${configs.quorum.userIds} names=${directory} />
          <p class="small muted">To add an approver, <a href="#/actions/create_users">create the user</a> and choose it here; or write <a href="#/policies/new">a policy</a> whose consensus counts it.</p>
        <//>
        <${Card} title="Features" flush actions=${html`<${ActionLink} operation="set_organization_feature">Set a feature<//>`}>
          ${configs.features.length ? html`<${Table} caption="Features" rows=${configs.features} idOf=${(/** @type {any} */ feature) => feature.name} columns=${[
            { title: "Feature", cell: (/** @type {any} */ feature) => valueInWords(feature.name, "FEATURE_NAME_") },
            { title: "Value", cell: (/** @type {any} */ feature) => feature.value || html`<span class="muted">on</span>` },
            { title: "Remove", cell: (/** @type {any} */ feature) => html`<${ActionLink} operation="remove_organization_feature" fields=${{ name: feature.name }} danger>Remove<//>`, tight: true },
          ]} />` : html`<${Empty} title="No features are set" />`}
        <//>
        <${IpAllowlist} />
      </div>
      <${Card} title="Details"><${Facts} facts=${[["Name", organizationName], ["Id", html`<${Copy} text=${organizationId} />`]]} /><//></div>`}<//>`;
}

/** @param {{threshold: number, userIds: string[]}} quorum */
function quorumInWords({ threshold, userIds }) {
  const may = "may do everything, whatever policies say.";
  if (userIds.length === 1) return `This user alone ${may}`;
  return threshold === 1 ? `Each of these users alone ${may}` : `${threshold} of these ${userIds.length} users together ${may}`;
}
