// The beginning: takes up the session, then shows the screen that the address names.
import { html, render, signal, useEffect, useState } from "./vendor/preact.js";
import { submit } from "./api/calls.js";
import { Frame } from "./frame.js";
import { LockoutQuestion } from "./parts/lockout.js";
import { Notice, Toasts, messageOf, tell } from "./parts/notice.js";
import { Empty, Heading } from "./parts/texts.js";
import { go, place, to } from "./router.js";
import { InvitationScreen } from "./screens/invitation.js";
import { LoginScreen } from "./screens/login.js";
import { readInvitation } from "./session/invitations.js";
import { issuersAnswer, takeIssuersAnswer } from "./session/proxy_logins.js";
import { current, logInByLink, logOut, resume, session } from "./session/session.js";

/** The screens by the first part of the address; each is fetched when it is first shown. */
/** @type {Record<string, () => Promise<any>>} */
const SCREENS = {
  activities: async () => (await import("./screens/activities.js")).ActivitiesScreen,
  policies: async () => (await import("./screens/policies.js")).PoliciesScreen,
  limits: async () => (await import("./screens/limits.js")).LimitsScreen,
  overview: async () => (await import("./screens/overview.js")).OverviewScreen,
  development: async () => (await import("./screens/development.js")).DevelopmentScreen,
  users: async () => (await import("./screens/users.js")).UsersScreen,
  sign: async () => (await import("./screens/sign.js")).SignScreen,
  wallets: async () => (await import("./screens/wallets.js")).WalletsScreen,
  "private-keys": async () => (await import("./screens/private_keys.js")).PrivateKeysScreen,
  contracts: async () => (await import("./screens/contracts.js")).ContractsScreen,
  "sub-organizations": async () => (await import("./screens/sub_organizations.js")).SubOrganizationsScreen,
  organization: async () => (await import("./screens/organization.js")).OrganizationScreen,
  audit: async () => (await import("./screens/audit.js")).AuditScreen,
  records: async () => (await import("./screens/collection.js")).CollectionScreen,
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
  if (!shown.Component) return html`<${Heading} title="Not found" /><${Empty} title="There is no such screen">No screen has this address.<//>`;
  return html`<${shown.Component} key=${name === "records" ? parts[1] : name} />`;
}

/** The invitation that the address named, until it is accepted or left. */
const invitation = signal(/** @type {import("./session/invitations.js").Invitation | null} */ (null));

function Console() {
  const who = session.value;
  if (invitation.value) return html`<${InvitationScreen} key=${invitation.value.key.publicKey} invitation=${invitation.value} onDone=${() => (invitation.value = null)} /><${Toasts} />`;
  if (who === undefined) return html`<div class="loading" role="status">Loading…</div>`;
  if (who === null) return html`<${LoginScreen} /><${Toasts} />`;
  return html`<${Frame} key=${who.userId}><${Screen} /><//><${LockoutQuestion} /><${Toasts} />`;
}

/** Replaces the address at once: neither history nor a copied address has the secret. @param {string} address */
function setAddress(address) {
  history.replaceState(null, "", address || "#/activities");
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** A log-in that the address names: of a link of `keystead dev`, of an invitation, or of an issuer that the person comes back from. */
function namedLogin() {
  const fragment = location.hash;
  const secret = /^#login=([\w-]+)$/.exec(fragment)?.[1];
  if (secret) return () => logInByLink(secret);
  const invited = /^#invitation=([\w-]+)$/.exec(fragment)?.[1];
  if (invited) return () => openInvitation(invited);
  const answer = issuersAnswer(fragment);
  return answer ? () => comeBack(answer) : undefined;
}

/** @param {string} secret of the link */
async function openInvitation(secret) {
  invitation.value = await readInvitation(secret);
  await resume();
}

/** @param {URLSearchParams} answer of an issuer */
async function comeBack(answer) {
  const { address, token, name } = await takeIssuersAnswer(answer);
  setAddress(address);
  if (!token) return;
  await resume();
  const parameters = { userId: current().userId, oauthProviders: [{ providerName: name, oidcToken: token }] };
  const activity = await submit("create_oauth_providers", "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2", parameters);
  go(to(["activities", activity.id]));
}

async function start() {
  const logIn = namedLogin();
  if (!logIn) return resume();
  setAddress("");
  try {
    await logIn();
  } catch (refused) {
    await resume();
    if (session.value) tell(messageOf(refused), "bad");
    else await logOut(messageOf(refused));
  }
}

addEventListener("hashchange", () => {
  if (namedLogin()) start();
});
const root = document.getElementById("console");
if (root) render(html`<${Console} />`, root);
await start();
