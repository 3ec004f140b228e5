// A backend makes sub-organizations for passkeys that were made in the page; passkeys stamp requests and log in.
import assert from "node:assert/strict";
import { run } from "./cases.mjs";
import { parent } from "./parent.mjs";

const account = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
};

/** A sub-organization with one root user, who has the passkey, and a wallet "first". */
async function withPasskey({ encodedChallenge: challenge, attestation }) {
  const authenticators = [{ authenticatorName: "passkey", challenge, attestation }];
  const made = await parent().createSubOrganization({
    subOrganizationName: "by passkey",
    rootQuorumThreshold: 1,
    rootUsers: [{ userName: "user", apiKeys: [], oauthProviders: [], authenticators }],
    wallet: { walletName: "first", accounts: [account] },
  });
  return made.subOrganizationId;
}

const newPasskey = (page) =>
  page.evaluate(() => {
    const sdk = new kits.sdkBrowser.Turnkey({ ...server, defaultOrganizationId: server.organizationId });
    return sdk.passkeyClient({ rpId: "localhost" }).createUserPasskey({ publicKey: { user: { name: "user", displayName: "User" } } });
  });

const cases = {
  async a_passkey_stamps_requests_without_a_session(page) {
    const organizationId = await withPasskey(await newPasskey(page));
    const { wallets } = await page.evaluate(async (organizationId) => {
      const stamper = new kits.WebauthnStamper({ rpId: "localhost" });
      return new kits.http.TurnkeyClient({ baseUrl: server.apiBaseUrl }, stamper).getWallets({ organizationId });
    }, organizationId);
    assert.deepEqual(wallets.map(({ walletName }) => walletName), ["first"]);
  },

  async sdk_browser_logs_in_refreshes_and_logs_out(page) {
    const organizationId = await withPasskey(await newPasskey(page));
    const seen = await page.evaluate(async () => {
      const sdk = new kits.sdkBrowser.Turnkey({ ...server, defaultOrganizationId: server.organizationId });
      const client = await sdk.indexedDbClient();
      await client.init();
      await client.resetKeyPair();
      await sdk.passkeyClient({ rpId: "localhost" }).loginWithPasskey({ publicKey: await client.getPublicKey() });
      const session = await sdk.getSession();
      const { wallets } = await client.getWallets({ organizationId: session.organizationId });
      await client.refreshSession({ invalidateExisting: true });
      const whoami = await client.getWhoami();
      await sdk.logout();
      await client.clear();
      return { session, wallets, whoami, left: await sdk.getSession() };
    });
    assert.equal(seen.session.organizationId, organizationId);
    assert.deepEqual(seen.wallets.map(({ walletName }) => walletName), ["first"]);
    assert.equal(seen.whoami.organizationId, organizationId);
    assert.equal(seen.left, undefined);
  },

  async the_indexed_db_stamper_keeps_a_session_over_a_reload(page) {
    const organizationId = await withPasskey(await newPasskey(page));
    const publicKey = await page.evaluate(async (organizationId) => {
      const keys = new kits.IndexedDbStamper();
      await keys.init();
      const passkey = new kits.WebauthnStamper({ rpId: "localhost" });
      await new kits.http.TurnkeyClient({ baseUrl: server.apiBaseUrl }, passkey).stampLogin({
        type: "ACTIVITY_TYPE_STAMP_LOGIN",
        timestampMs: String(Date.now()),
        organizationId,
        parameters: { publicKey: keys.getPublicKey() },
      });
      return keys.getPublicKey();
    }, organizationId);
    await page.reload({ waitUntil: "load" });
    const seen = await page.evaluate(async (organizationId) => {
      const keys = new kits.IndexedDbStamper();
      await keys.init();
      const client = new kits.http.TurnkeyClient({ baseUrl: server.apiBaseUrl }, keys);
      return { publicKey: keys.getPublicKey(), whoami: await client.getWhoami({ organizationId }) };
    }, organizationId);
    assert.equal(seen.publicKey, publicKey);
    assert.equal(seen.whoami.organizationId, organizationId);
  },

  async passkeys_are_for_the_origins_that_the_parent_names(page) {
    const organizationId = await withPasskey(await newPasskey(page));
    const name = "FEATURE_NAME_WEBAUTHN_ORIGINS";
    const loggedIn = () =>
      page.evaluate(async () => {
        const client = await connect();
        return (await errorOf(client.loginWithPasskey()))?.cause ?? (await client.getSession()).organizationId;
      });
    try {
      await parent().setOrganizationFeature({ name, value: "https://elsewhere.example" });
      assert.match(await loggedIn(), /is not among the organization's WebAuthn origins/);
      await parent().setOrganizationFeature({ name, value: `https://elsewhere.example,${new URL(page.url()).origin}` });
      assert.equal(await loggedIn(), organizationId);
    } finally {
      await parent().removeOrganizationFeature({ name });
    }
  },
};

await run(cases);
