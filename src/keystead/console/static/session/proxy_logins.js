// Log-ins without a key or passkey, through an authentication proxy: by one-time code, or at an OpenID Connect issuer.
import { send } from "../api/request.js";
import { base64urlOf, hexOf, sha256Hex, utf8 } from "./encoding.js";
import { makeKey } from "./keys.js";
import { beginWithToken, claimsOf } from "./session.js";
import { storeBegunLogin, takeBegunLogin } from "./stored.js";

/** @typedef {{name: string, url: string}} Issuer `url`: its authorization endpoint, with our client id */
/** @typedef {{authProxyId: string, issuers: Issuer[], channels: string[]}} ProxyLogins `channels`: of codes: email, sms */

/** As the operator has set them. @returns {Promise<{authProxyId: string, oidc: Issuer[], invitesByEmail: boolean}>} */
export async function loginMethods() {
  const answer = await fetch("logins.json");
  if (!answer.ok) throw new Error(`the server did not list its login methods: ${answer.status}`);
  return answer.json();
}

/** What this server offers; undefined if it offers neither codes nor issuers. @returns {Promise<ProxyLogins | undefined>} */
export async function proxyLogins() {
  const { authProxyId, oidc } = await loginMethods();
  if (!authProxyId) return undefined;
  const { enabledProviders } = await ask(authProxyId, "wallet_kit_config", {});
  const channels = ["email", "sms"].filter((channel) => enabledProviders.includes(channel));
  return { authProxyId, issuers: oidc, channels };
}

/**
 * Sends a code. @param {string} authProxyId @param {string} contact an e-mail address or phone number
 * @returns {Promise<string>} the id of the code
 */
export async function sendCode(authProxyId, contact) {
  const otpType = contact.includes("@") ? "OTP_TYPE_EMAIL" : "OTP_TYPE_SMS";
  return (await ask(authProxyId, "otp_init", { otpType, contact })).otpId;
}

/**
 * @param {string} authProxyId
 * @param {{otpId: string, code: string, organizationId: string}} given `organizationId`: "" if the contact finds it
 */
export async function logInByCode(authProxyId, { otpId, code, organizationId }) {
  const key = await makeKey();
  const verified = await ask(authProxyId, "otp_verify", { otpId, otpCode: code, publicKey: key.publicKey });
  const { verificationToken } = verified;
  const message = JSON.stringify({ tokenId: claimsOf(verificationToken).id, type: "USAGE_TYPE_LOGIN", login: { publicKey: key.publicKey } });
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key.privateKey, utf8(message));
  const { session } = await ask(authProxyId, "otp_login", {
    verificationToken,
    publicKey: key.publicKey,
    clientSignature: { publicKey: key.publicKey, scheme: "CLIENT_SIGNATURE_SCHEME_API_P256", message, signature: hexOf(new Uint8Array(signature)) },
    ...(organizationId ? { organizationId } : {}),
  });
  await beginWithToken(session, key);
}

/**
 * Leaves for an issuer, to log in there. The ID token that it gives names the session's key: it is of no use with another.
 * @param {Issuer} issuer @param {string} organizationId "" if the identity finds it
 */
export async function logInAt(issuer, organizationId) {
  const key = await makeKey();
  await leaveFor(issuer, { key, organizationId }, await sha256Hex(key.publicKey));
}

/** Leaves for an issuer, to add the identity there to the person who is logged in. @param {Issuer} issuer */
export async function addIdentityAt(issuer) {
  await leaveFor(issuer, { key: null, organizationId: "" }, unguessable());
}

/** @param {Issuer} issuer @param {{key: import("./keys.js").StampingKey | null, organizationId: string}} login @param {string} nonce */
async function leaveFor(issuer, login, nonce) {
  const state = unguessable();
  await storeBegunLogin({ ...login, state, name: issuer.name, address: location.hash });
  const url = new URL(issuer.url);
  const asked = { response_type: "id_token", scope: "openid email", redirect_uri: location.origin + location.pathname, nonce, state };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  location.assign(url);
}

function unguessable() {
  return base64urlOf(crypto.getRandomValues(new Uint8Array(16)));
}

/** The issuer's answer in the fragment of the address; undefined if the fragment holds no answer. @param {string} fragment */
export function issuersAnswer(fragment) {
  const answer = new URLSearchParams(fragment.replace(/^#/, ""));
  return answer.has("state") && (answer.has("id_token") || answer.has("error")) ? answer : undefined;
}

/**
 * Back from an issuer: logs in, or adds the identity.
 * @param {URLSearchParams} answer
 * @returns {Promise<{address: string, token: string, name: string}>} `address`: where the person was. `token`: the ID token of an
 *   identity to add, "" after a log-in. `name`: of the issuer
 */
export async function takeIssuersAnswer(answer) {
  const begun = await takeBegunLogin();
  if (!begun || begun.state !== answer.get("state")) throw new Error("this login was not started in this browser, or it has ended: log in again");
  const oidcToken = answer.get("id_token");
  if (!oidcToken) throw new Error(`the issuer refused: ${answer.get("error_description") ?? answer.get("error")}`);
  const { organizationId, key, address, name } = begun;
  if (!key) return { address, token: oidcToken, name };
  const { authProxyId } = (await proxyLogins()) ?? {};
  if (!authProxyId) throw new Error("this server no longer offers logins at issuers");
  const { session } = await ask(authProxyId, "oauth_login", { oidcToken, publicKey: key.publicKey, ...(organizationId ? { organizationId } : {}) });
  await beginWithToken(session, key);
  return { address, token: "", name };
}

/** @param {string} authProxyId @param {string} name @param {Record<string, unknown>} content @returns {Promise<any>} */
function ask(authProxyId, name, content) {
  return send(`/auth-proxy/v1/${name}`, JSON.stringify(content), { "X-Auth-Proxy-Config-ID": authProxyId });
}
