// The organization itself: its root quorum, its features, its authentication proxies.
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

export function OrganizationScreen() {
  const loaded = useLoaded(async () => {
    const [{ configs }, directory, proxies] = await Promise.all([
      query("get_organization_configs"), names(), query("list_auth_proxy_configs").catch(() => ({ authProxyConfigs: [] }))]);
    return { configs, directory, proxies: proxies.authProxyConfigs };
  }, []);
  const { organizationId, organizationName } = current();
  return html`<${Heading} title=${organizationName} note="What holds for the whole organization.">
      <${ActionLink} operation="update_organization_name" fields=${{ organizationName }}>Rename<//>
    <//>
    <${Loaded} of=${loaded}>${(/** @type {any} */ { configs, directory, proxies }) => html`
      <div class="columns"><div class="stack">
        <${Card} title="Root quorum" actions=${html`<${ActionLink} operation="update_root_quorum" fields=${{ threshold: String(configs.quorum.threshold), userIds: configs.quorum.userIds.join(",") }}>Change<//>`}>
          <p>${configs.quorum.threshold} of these users together may do everything, whatever policies say.</p>
          <${Value} value=${configs.quorum.userIds} names=${directory} />
        <//>
        <${Card} title="Features" flush actions=${html`<${ActionLink} operation="set_organization_feature">Set a feature<//>`}>
          ${configs.features.length ? html`<${Table} caption="Features" rows=${configs.features} idOf=${(/** @type {any} */ feature) => feature.name} columns=${[
            { title: "Feature", cell: (/** @type {any} */ feature) => valueInWords(feature.name, "FEATURE_NAME_") },
            { title: "Value", cell: (/** @type {any} */ feature) => feature.value ?? html`<span class="muted">on</span>` },
            { title: "Remove", cell: (/** @type {any} */ feature) => html`<${ActionLink} operation="remove_organization_feature" fields=${{ name: feature.name }} danger>Remove<//>`, tight: true },
          ]} />` : html`<${Empty} title="No features are set" />`}
        <//>
        ${proxies.map((/** @type {any} */ proxy) => html`<${Card} title="Authentication proxy"><${Value} value=${proxy} names=${directory} /><//>`)}
      </div>
      <${Card} title="Details"><${Facts} facts=${[["Name", organizationName], ["Id", html`<${Copy} text=${organizationId} />`]]} /><//></div>`}<//>`;
}
