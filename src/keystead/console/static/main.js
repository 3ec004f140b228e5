// The beginning: takes up the session, then shows the screen that the address names.
import { html, render, useEffect, useState } from "./vendor/preact.js";
import { Frame } from "./frame.js";
import { Notice, Toasts, messageOf } from "./parts/notice.js";
import { Empty, Heading } from "./parts/texts.js";
import { place } from "./router.js";
import { LoginScreen } from "./screens/login.js";
import { logInByLink, logOut, resume, session } from "./session/session.js";

/** The screens by the first part of the address; each is fetched when it is first shown. */
/** @type {Record<string, () => Promise<any>>} */
const SCREENS = {
  activities: async () => (await import("./screens/activities.js")).ActivitiesScreen,
  policies: async () => (await import("./screens/policies.js")).PoliciesScreen,
  overview: async () => (await import("./screens/overview.js")).OverviewScreen,
  development: async () => (await import("./screens/development.js")).DevelopmentScreen,
  users: async () => (await import("./screens/users.js")).UsersScreen,
  wallets: async () => (await import("./screens/wallets.js")).WalletsScreen,
  "private-keys": async () => (await import("./screens/private_keys.js")).PrivateKeysScreen,
  contracts: async () => (await import("./screens/contracts.js")).ContractsScreen,
  "sub-organizations": async () => (await import("./screens/sub_organizations.js")).SubOrganizationsScreen,
  organization: async () => (await import("./screens/organization.js")).OrganizationScreen,
  actions: async () => (await import("./screens/actions.js")).ActionsScreen,
};

function Screen() {
  const { parts, path } = place.value;
  const name = parts[0] ?? "activities";
  const [shown, setShown] = useState(/** @type {{name: string, Component?: any, error?: unknown}} */ ({ name: "" }));
  useEffect(() => {
    let isWanted = true;
    const show = (/** @type {{Component?: any, error?: unknown}} */ found) => isWanted && setShown({ name, ...found });
    const load = SCREENS[name] ?? (async () => undefined);
    load().then((Component) => show({ Component }), (error) => show({ error }));
    return () => void (isWanted = false);
  }, [name]);
  useEffect(() => {
    scrollTo(0, 0);
  }, [path]);
  if (shown.name !== name) return html`<div class="loading" role="status">Loading…</div>`;
  if (shown.error) return html`<${Notice} kind="bad">${messageOf(shown.error)}<//>`;
  if (!shown.Component) return html`<${Heading} title="Not found" /><${Empty} title="There is no such screen">The address names none.<//>`;
  return html`<${shown.Component} key=${name} />`;
}

function Console() {
  const who = session.value;
  if (who === undefined) return html`<div class="loading" role="status">Loading…</div>`;
  if (who === null) return html`<${LoginScreen} /><${Toasts} />`;
  return html`<${Frame} key=${who.userId}><${Screen} /><//><${Toasts} />`;
}

/** The secret of a link is taken out of the address at once: neither history nor a copied address has it. */
function takeLinkSecret() {
  const secret = /^#login=([\w-]+)$/.exec(location.hash)?.[1];
  if (secret) {
    history.replaceState(null, "", "#/activities");
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
  return secret;
}

async function start() {
  const secret = takeLinkSecret();
  if (!secret) return resume();
  try {
    await logInByLink(secret);
  } catch (refused) {
    await resume();
    if (!session.value) await logOut(messageOf(refused));
  }
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith("#login=")) start();
});
const root = document.getElementById("console");
if (root) render(html`<${Console} />`, root);
await start();
