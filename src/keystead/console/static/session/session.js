// Who is logged in: the one session of this page, how it begins and ends. Not here: codes and issuers (proxy_logins).
import { signal } from "../vendor/preact.js";
import { Refused, send } from "../api/request.js";
import { importKey, makeKey, stampByKey } from "./keys.js";
import { stampByPasskey } from "./passkeys.js";
import { forgetLogin, storeLogin, storedLogin } from "./stored.js";

const SESSION_SECONDS = 43_200;

/**
 * @typedef {object} Session
 * @property {string} organizationId
 * @property {string} organizationName
 * @property {string} userId
 * @property {string} userName
 * @property {"session" | "api-key"} kind
 * @property {import("./keys.js").StampingKey} key
 * @property {number | null} expiresAtMs
 */

/** `undefined` until it is known whether this browser has a session; `null`: logged out. */
export const session = signal(/** @type {Session | null | undefined} */ (undefined));

/** Why the last session ended, for the log-in screen. */
export const ending = signal("");

/** The session. Throws where there is none: screens are shown with one only. @returns {Session} */
export function current() {
  if (!session.value) throw new Error("logged out");
  return session.value;
}

/** Takes up the session that this browser kept, if the server still knows it. */
export async function resume() {
  const stored = await storedLogin().catch(() => undefined);
  if (!stored) {
    session.value = null;
    return;
  }
  try {
    await begin(stored);
  } catch (refused) {
    const why = `Your last session cannot be continued: ${/** @type {Error} */ (refused).message}`;
    if (refused instanceof Refused && refused.status === 401) await logOut(why);
    else {
      ending.value = why; // the key stays: the server may answer it again, such as after a restart
      session.value = null;
    }
  }
}

/**
 * By the secret of the link that `keystead dev` prints.
 * @param {string} secret
 */
export async function logInByLink(secret) {
  const key = await makeKey();
  const asked = JSON.stringify({ secret, publicKey: key.publicKey });
  const login = await send("/dev/v1/console-login", asked, {});
  const answer = await send(login.path, login.body, { "X-Stamp": login.stamp });
  await beginSession(answer, key);
}

/** In place of an organization's id: the organization that has the passkey. */
const ANY_ORGANIZATION = "00000000-0000-0000-0000-000000000000";

/**
 * By a passkey: it stamps one request, which makes a key of this browser a session key.
 * @param {string} organizationId "" if the passkey finds it
 */
export async function logInByPasskey(organizationId) {
  const key = await makeKey();
  const body = stampLogin(organizationId || ANY_ORGANIZATION, key);
  await beginSession(await send("/public/v1/submit/stamp_login", body, await stampByPasskey(body)), key);
}

/**
 * By an API key, as in the file credentials.json. The key is imported and never sent.
 * @param {{organizationId: string, apiPublicKey: string, apiPrivateKey: string}} credentials
 */
export async function logInByApiKey({ organizationId, apiPublicKey, apiPrivateKey }) {
  const key = await importKey(apiPublicKey, apiPrivateKey);
  await begin({ organizationId, key, kind: "api-key", expiresAtMs: null });
  tellTabs();
}

/** @param {string} why a sentence for the log-in screen, "" if the person asked */
export async function logOut(why = "") {
  const ended = session.peek()?.key.publicKey ?? "";
  const stored = await storedLogin().catch(() => undefined);
  const isOther = ended && stored && stored.key.publicKey !== ended; // another tab has begun a further session
  if (!isOther) await forgetLogin().catch(() => undefined);
  ending.value = why;
  session.value = null;
  tabs.postMessage({ ended, why: why || "You logged out in another tab." });
}

/** The tabs of this browser share one session. @type {BroadcastChannel} */
const tabs = new BroadcastChannel("keystead-session");
tabs.onmessage = ({ data: { began, ended, why } }) => {
  const mine = session.peek();
  if (began && (!mine || mine.userId === began)) resume();
  if (mine && mine.key.publicKey === ended) {
    ending.value = why;
    session.value = null;
  }
};

/** @param {any} answer @param {import("./keys.js").StampingKey} key */
async function beginSession({ activity }, key) {
  const token = activity.result.stampLoginResult?.session;
  if (!token) throw new Error(`the login waits for approvals: the activity ${activity.id} is ${activity.status}`);
  await beginWithToken(token, key);
}

/**
 * Begins a session that the server has registered.
 * @param {string} token the JWT that describes it
 * @param {import("./keys.js").StampingKey} key whose public half it registers
 */
export async function beginWithToken(token, key) {
  const { exp, organization_id: organizationId } = claimsOf(token);
  await begin({ organizationId, key, kind: "session", expiresAtMs: exp * 1000 });
  tellTabs();
}

/** After a log-in, and after a session in place of one that ends. */
function tellTabs() {
  tabs.postMessage({ began: current().userId });
}

/** What a JWT states, not verified. @param {string} token @returns {any} */
export function claimsOf(token) {
  return JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
}

/** A further session in place of the one that ends, by its own key. */
export async function prolong() {
  const { organizationId, key: before } = current();
  const key = await makeKey();
  const body = stampLogin(organizationId, key);
  await beginSession(await send("/public/v1/submit/stamp_login", body, await stampByKey(before, body)), key);
}

/** @param {string} organizationId @param {import("./keys.js").StampingKey} key */
function stampLogin(organizationId, key) {
  return JSON.stringify({
    type: "ACTIVITY_TYPE_STAMP_LOGIN",
    timestampMs: String(Date.now()),
    organizationId,
    parameters: { publicKey: key.publicKey, expirationSeconds: String(SESSION_SECONDS) },
  });
}

/** @param {import("./stored.js").StoredLogin} login */
async function begin(login) {
  const body = JSON.stringify({ organizationId: login.organizationId });
  const who = await send("/public/v1/query/whoami", body, await stampByKey(login.key, body));
  await storeLogin({ ...login, organizationId: who.organizationId });
  localStorage.setItem("organizationId", who.organizationId);
  ending.value = "";
  session.value = {
    ...login,
    organizationId: who.organizationId,
    organizationName: who.organizationName,
    userId: who.userId,
    userName: who.username,
  };
}
