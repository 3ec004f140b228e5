// One user: credentials, what the user may approve, and the invitation while it is open.
import { html, useState } from "../vendor/preact.js";
import { listed, query, submit } from "../api/calls.js";
import { names } from "../api/directory.js";
import { invitations } from "../api/invitations.js";
import { Icon } from "../parts/icons.js";
import { Loaded, useLoaded } from "../parts/loaded.js";
import { Notice, messageOf, tell } from "../parts/notice.js";
import { ActionLink } from "../parts/records.js";
import { Table } from "../parts/table.js";
import { Badge, Card, Copy, Empty, Facts, Heading, Time } from "../parts/texts.js";
import { go, to } from "../router.js";
import { canUsePasskeys, makePasskey } from "../session/passkeys.js";
import { addIdentityAt, proxyLogins } from "../session/proxy_logins.js";
import { current } from "../session/session.js";
import { isWaiting, msOf, statusInWords, valueInWords } from "../words.js";
import { QuorumDialog } from "./root_quorum.js";

/** @param {{id: string}} properties */
export function UserPage({ id }) {
  const user = useLoaded(async () => (await query("get_user", { userId: id })).user, [id]);
  const directory = useLoaded(names, [id]);
  const invited = useLoaded(async () => (await invitations()).get(id) ?? null, [id]);
  return html`<${Loaded} of=${user}>${(/** @type {any} */ loaded) => html`
    <${Heading} title=${loaded.userName} crumbs=${html`<a href="#/users">Users</a>`} note=${id === current().userId ? "This is you." : ""}>
      <${ActionLink} operation="update_user" fields=${{ userId: id, userName: loaded.userName }}>Change<//>
      <${ActionLink} operation="delete_users" fields=${{ userIds: id }} danger>Delete<//>
    <//>
    <div class="columns">
      <div class="stack">
        ${invited.value ? html`<${InvitationCard} invitation=${invited.value} names=${directory.value ?? new Map()} />` : null}
        <${Passkeys} user=${loaded} reload=${user.reload} />
        <${ApiKeys} user=${loaded} />
        <${Others} user=${loaded} />
      </div>
      <div class="stack"><${Approver} userId=${id} />
      <${Card} title="Details"><${Facts} facts=${[
        ["Id", html`<${Copy} text=${id} />`],
        ["E-mail", loaded.userEmail],
        ["Phone number", loaded.userPhoneNumber],
        ["Tags", loaded.userTags.length ? html`<span class="tags">${loaded.userTags.map((/** @type {string} */ tag) => html`<${Badge}>${directory.value?.get(tag)?.name ?? tag}<//>`)}</span>` : null],
        ["Created", html`<${Time} ms=${msOf(loaded.createdAt)} />`],
        ["Changed", html`<${Time} ms=${msOf(loaded.updatedAt)} />`],
      ]} /><//></div>
    </div>`}<//>`;
}

/** An invitation that nobody has accepted yet. @param {{invitation: import("../api/invitations.js").OpenInvitation, names: Map<string, import("../api/directory.js").Named>}} properties */
function InvitationCard({ invitation, names }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const { invitationId, receiverUserName: name, receiverEmail: email, senderUserId, expiresMs, isExpired } = invitation;
  const withdraw = async (/** @type {string} */ next) => {
    setBusy(true);
    setProblem("");
    try {
      const activity = await submit("delete_invitation", "ACTIVITY_TYPE_DELETE_INVITATION", { invitationId });
      if (isWaiting(activity)) return go(to(["activities", activity.id]));
      tell("The invitation was withdrawn.");
      go(next);
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return html`<${Card} title="Invitation">
    <p>${isExpired ? `The link has expired: ${name} did not open it in time.` : html`${name} has not opened the link yet. It is valid until <${Time} ms=${expiresMs} exact />.`}</p>
    <p class="small muted">Invited by ${names.get(senderUserId)?.name ?? "a user who was deleted"}, for ${email}.</p>
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
    <div class="row"><button type="button" class="button" disabled=${isBusy} onClick=${() => withdraw(to(["users", "new"], { name, email }))}>Invite again</button>
      <button type="button" class="button danger" disabled=${isBusy} onClick=${() => withdraw("#/users")}>Withdraw the invitation</button></div>
  <//>`;
}

/** Whether the user's approval counts, and the ways to make it count. @param {{userId: string}} properties */
function Approver({ userId }) {
  const loaded = useLoaded(async () => {
    const [{ configs }, { policies }] = await Promise.all([query("get_organization_configs"), listed("list_policies")]);
    return { quorum: configs.quorum, policies: policies.filter((/** @type {any} */ policy) => policy.consensus?.includes(userId)) };
  }, [userId]);
  const [isOpen, setOpen] = useState(false);
  return html`<${Card} title="Where this user's approvals count"><${Loaded} of=${loaded}>${(/** @type {any} */ { quorum, policies }) => {
    const isRoot = quorum.userIds.includes(userId);
    return html`<ul class="stack tight">
      <li>${isRoot ? `In the root quorum: ${quorum.threshold === 1 ? "each member alone" : `${quorum.threshold} of ${quorum.userIds.length} members together`} may do everything.` : "Not in the root quorum."}</li>
      ${policies.length ? policies.map((/** @type {any} */ policy) => html`<li class="prose">In the policy <a href=${to(["policies", policy.policyId])}>${policy.policyName}</a></li>`)
        : html`<li>No policy names this user. Policies that count all approvers, or a tag, may count this user.</li>`}</ul>
      <div class="row">${isRoot ? null : html`<button type="button" class="button" onClick=${() => setOpen(true)}>Add to the root quorum</button>`}
        <a class="button" href=${to(["policies", "new"], { approver: userId })}>New policy that counts this user</a></div>
      ${isOpen ? html`<${QuorumDialog} quorum=${quorum} addedId=${userId} onClose=${() => setOpen(false)} onChanged=${loaded.reload} />` : null}`;
  }}<//><//>`;
}

/** @param {{user: any, reload: () => Promise<void>}} properties */
function Passkeys({ user, reload }) {
  const isMe = user.userId === current().userId;
  return html`<${Card} title="Passkeys" flush actions=${isMe ? html`<${AddPasskey} user=${user} reload=${reload} />` : null}>
    ${user.authenticators.length ? html`<${Table} caption="Passkeys" rows=${user.authenticators} idOf=${(/** @type {any} */ each) => each.authenticatorId} columns=${[
      { title: "Name", cell: (/** @type {any} */ each) => html`${each.authenticatorName}<div class="small muted">${each.model}</div>` },
      { title: "Id", cell: (/** @type {any} */ each) => html`<${Copy} text=${each.authenticatorId} short />`, tight: true },
      { title: "Added", cell: (/** @type {any} */ each) => html`<${Time} ms=${msOf(each.createdAt)} />`, tight: true },
      { title: "Delete", cell: (/** @type {any} */ each) => html`<${ActionLink} operation="delete_authenticators" fields=${{ userId: user.userId, authenticatorIds: each.authenticatorId }} danger>Delete<//>`, tight: true },
    ]} />` : html`<${Empty} title="No passkey">${isMe ? "With a passkey you can log in and approve on this device." : "Only this user can add a passkey: the user logs in, for example with the file of an API key, and uses “Add a passkey” on this page."}<//>`}
  <//>`;
}

/** @param {{user: any, reload: () => Promise<void>}} properties */
function AddPasskey({ user, reload }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const add = async () => {
    setBusy(true);
    setProblem("");
    try {
      const made = await makePasskey(user.userName);
      const authenticatorName = `Passkey of ${location.hostname} (${user.authenticators.length + 1})`;
      const activity = await submit("create_authenticators", "ACTIVITY_TYPE_CREATE_AUTHENTICATORS_V2", {
        userId: user.userId,
        authenticators: [{ authenticatorName, ...made }],
      });
      tell(activity.status === "ACTIVITY_STATUS_COMPLETED" ? "The passkey was added." : `Adding the passkey: ${statusInWords(activity.status).text.toLowerCase()}.`);
      await reload();
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  if (!canUsePasskeys()) return html`<span class="small muted">Browsers support passkeys only on https and on localhost.</span>`;
  return html`<button type="button" class="button" disabled=${isBusy} onClick=${add}><${Icon} name="plus" />Add a passkey</button>
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}`;
}

/** @param {{user: any}} properties */
function ApiKeys({ user }) {
  return html`<${Card} title="API keys" flush actions=${html`<${ActionLink} operation="create_api_keys" fields=${{ userId: user.userId }}>Add an API key<//>`}>
    ${user.apiKeys.length ? html`<${Table} caption="API keys" rows=${user.apiKeys} idOf=${(/** @type {any} */ key) => key.apiKeyId} columns=${[
      { title: "Name", cell: (/** @type {any} */ key) => html`${key.apiKeyName} ${key.credential.publicKey === current().key.publicKey ? html`<${Badge} kind="accent">this browser<//>` : null}
        <div class="small muted">${valueInWords(key.credential.type, "CREDENTIAL_TYPE_")}</div>` },
      { title: "Public key", cell: (/** @type {any} */ key) => html`<${Copy} text=${key.credential.publicKey} short />` },
      { title: "Expires", cell: expiry, tight: true },
      { title: "Delete", cell: (/** @type {any} */ key) => html`<${ActionLink} operation="delete_api_keys" fields=${{ userId: user.userId, apiKeyIds: key.apiKeyId }} danger>Delete<//>`, tight: true },
    ]} />` : html`<${Empty} title="No API keys">This user has none.<//>`}
  <//>`;
}

/** What few users have: identities of other providers, wallets, and MFA policies. @param {{user: any}} properties */
function Others({ user }) {
  const { userId, oauthProviders, walletAuthenticators, mfaPolicies } = user;
  const offered = useLoaded(proxyLogins, []);
  const issuers = userId === current().userId ? offered.value?.issuers ?? [] : [];
  return html`
    ${oauthProviders.length || issuers.length ? html`<${Card} title="Identities of other providers" flush actions=${issuers.map((issuer) => html`<button type="button" class="button" key=${issuer.url}
      onClick=${() => addIdentityAt(issuer)}><${Icon} name="plus" />Add one of ${issuer.name}</button>`)}>${oauthProviders.length ? html`<${Table} caption="OAuth providers" rows=${oauthProviders} idOf=${(/** @type {any} */ each) => each.providerId} columns=${[
      { title: "Name", cell: (/** @type {any} */ each) => each.providerName },
      { title: "Issuer", cell: (/** @type {any} */ each) => each.issuer },
      { title: "Subject", cell: (/** @type {any} */ each) => each.subject },
      { title: "Delete", cell: (/** @type {any} */ each) => html`<${ActionLink} operation="delete_oauth_providers" fields=${{ userId, providerIds: each.providerId }} danger>Delete<//>`, tight: true },
    ]} />` : html`<${Empty} title="No identities">With an identity you can log in with an account that you already have.<//>`}<//>` : null}
    ${walletAuthenticators.length ? html`<${Card} title="Wallets to log in with" flush><${Table} caption="Wallets to log in with" rows=${walletAuthenticators} idOf=${(/** @type {any} */ each) => each.walletAuthenticatorId} columns=${[
      { title: "Chain", cell: (/** @type {any} */ each) => valueInWords(each.type, "WALLET_AUTHENTICATOR_TYPE_") },
      { title: "Address", cell: (/** @type {any} */ each) => html`<${Copy} text=${each.address} />` },
      { title: "Domain", cell: (/** @type {any} */ each) => each.domain },
      { title: "Delete", cell: (/** @type {any} */ each) => html`<${ActionLink} operation="delete_wallet_authenticators" fields=${{ userId, walletAuthenticatorIds: each.walletAuthenticatorId }} danger>Delete<//>`, tight: true },
    ]} /><//>` : null}
    <${Card} title="MFA policies" flush actions=${html`<${ActionLink} operation="create_mfa_policy" fields=${{ userId }}>Add an MFA policy<//>`}>
      ${mfaPolicies.length ? html`<${Table} caption="MFA policies" rows=${mfaPolicies} idOf=${(/** @type {any} */ each) => each.mfaPolicyId} columns=${[
        { title: "Name", cell: (/** @type {any} */ each) => each.mfaPolicyName },
        { title: "Condition", cell: (/** @type {any} */ each) => html`<code>${each.condition || "everything"}</code>` },
        { title: "Proofs", cell: (/** @type {any} */ each) => html`<ol>${each.requiredAuthenticationMethods.map((/** @type {any} */ step) => html`<li>${step.any.map((/** @type {any} */ method) => valueInWords(method.type, "AUTHENTICATION_TYPE_")).join(" or ")}</li>`)}</ol>` },
        { title: "Delete", cell: (/** @type {any} */ each) => html`<${ActionLink} operation="delete_mfa_policy" fields=${{ userId, mfaPolicyId: each.mfaPolicyId }} danger>Delete<//>`, tight: true },
      ]} />` : html`<${Empty} title="No MFA policy">An MFA policy asks for more proofs from this user.<//>`}<//>`;
}

/** @param {any} key */
function expiry(key) {
  if (key.expirationSeconds === undefined || key.expirationSeconds === null) return "never";
  return html`<${Time} ms=${msOf(key.createdAt) + Number(key.expirationSeconds) * 1000} />`;
}
