// People who sign up and log in at an OpenID Connect provider, through @turnkey/core.
import assert from "node:assert/strict";
import { run } from "./cases.mjs";
import { page as pageClient, startProvider } from "./oidc_provider.mjs";

const CLIENT_ID = "the-page";
const { KEYSTEAD_ISSUER: issuer, KEYSTEAD_ISSUER_KEY } = process.env;

/** From the page to the provider and back, with a token whose nonce binds it to a new key of the page. */
async function logIn(page, name) {
  const back = page.url().split("#")[0];
  const { publicKey, nonce } = await page.evaluate(async () => {
    const publicKey = await (await connect()).createApiKeyPair();
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(publicKey));
    return { publicKey, nonce: Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("") };
  });
  const asked = { client_id: CLIENT_ID, response_type: "id_token", scope: "openid", redirect_uri: back, nonce };
  await page.goto(`${issuer}/auth?${new URLSearchParams({ ...asked, prompt: "login", login_hint: name })}`);
  await page.waitForFunction("window.connect"); // people have come back
  return page.evaluate(async (publicKey) => {
    const client = await connect();
    const oidcToken = new URLSearchParams(location.hash.slice(1)).get("id_token");
    const { action } = await client.completeOauth({ oidcToken, publicKey, providerName: "local" });
    const session = await client.getSession();
    const { oauthProviders } = await client.fetchUser();
    await client.logout();
    const otherKey = await client.createApiKeyPair();
    const replayed = await errorOf(client.loginWithOauth({ oidcToken, publicKey: otherKey, organizationId: session.organizationId }));
    return { action, session, oauthProviders, replayed };
  }, publicKey);
}

const cases = {
  async a_provider_signs_people_up_and_logs_them_in(page) {
    const key = JSON.parse(KEYSTEAD_ISSUER_KEY);
    const close = await startProvider(issuer, key, page.url(), [pageClient(CLIENT_ID)]);
    try {
      const signedUp = await logIn(page, "alice");
      const loggedIn = await logIn(page, "alice");
      const other = await logIn(page, "bob");
      assert.deepEqual([signedUp.action, loggedIn.action, other.action], ["SIGNUP", "LOGIN", "SIGNUP"]);
      assert.equal(loggedIn.session.organizationId, signedUp.session.organizationId);
      assert.notEqual(other.session.organizationId, signedUp.session.organizationId);
      const [provider] = loggedIn.oauthProviders;
      assert.deepEqual([provider.issuer, provider.audience, provider.subject], [issuer, CLIENT_ID, "alice"]);
      assert.match(loggedIn.replayed.cause, /nonce/); // the token is bound to the key that it was asked for
    } finally {
      close();
    }
  },
};

await run(cases);
