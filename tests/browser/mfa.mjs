// One more proof, asked for by MFA policies and given through @turnkey/core: by passkey, by code, before a session too.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { run } from "./cases.mjs";

const passkey = { any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" }] };
const session = { any: [{ type: "AUTHENTICATION_TYPE_SESSION" }] };
const code = { any: [{ type: "AUTHENTICATION_TYPE_EMAIL_OTP" }] };

/** Someone with an address and a passkey is logged in as `window.client`, and under this MFA policy from then on. */
async function underPolicy(page, condition, requiredAuthenticationMethods) {
  const contact = `${randomUUID()}@example.org`;
  await page.evaluate(
    async (contact, policy) => {
      window.asked = [];
      window.verified = async () => {
        const begun = await client.initOtp({ otpType: "OTP_TYPE_EMAIL", contact });
        return client.verifyOtp({ ...begun, otpCode: await codeFor(contact, ++window.sent) });
      };
      window.sent = 0;
      window.approveWith = {
        passkey: (asked) => client.httpClient.approveActivity(asked, "passkey"),
        async code(asked) {
          await client.overrideAttestedStamper(await verified());
          await client.httpClient.approveActivity(asked, "attested");
        },
      };
      window.client = await connect({
        async onMfaRequired({ organizationId, fingerprint, activityType, mfaStatuses }) {
          asked.push(activityType, mfaStatuses[0].satisfied);
          await approveWith[window.proof]({ organizationId, fingerprint });
        },
      });
      const { verificationToken } = await verified();
      await client.signUpWithOtp({ verificationToken, contact, otpType: "OTP_TYPE_EMAIL" });
      await client.addPasskey({ name: "laptop" });
      const { userId, organizationId } = await client.getSession();
      await client.httpClient.createMfaPolicy({ ...policy, organizationId, userId, mfaPolicyName: "more", order: 1 });
    },
    contact,
    { condition, requiredAuthenticationMethods },
  );
}

const newWallet = (page, proof) =>
  page.evaluate(async (proof) => {
    window.proof = proof;
    const walletId = await client.createWallet({ walletName: "guarded", accounts: ["ADDRESS_FORMAT_ETHEREUM"] });
    return { walletId, asked, wallets: (await client.fetchWallets()).map((wallet) => wallet.walletId) };
  }, proof);

const cases = {
  async a_session_and_a_passkey_make_a_wallet(page) {
    await underPolicy(page, "activity.resource == 'WALLET'", [session, passkey]);
    const { walletId, asked, wallets } = await newWallet(page, "passkey");
    assert.deepEqual(asked, ["ACTIVITY_TYPE_CREATE_WALLET", false]);
    assert.deepEqual(wallets, [walletId]);
  },

  async a_session_and_a_code_make_a_wallet(page) {
    await underPolicy(page, "activity.resource == 'WALLET'", [session, code]);
    const { walletId, asked, wallets } = await newWallet(page, "code");
    assert.deepEqual(asked, ["ACTIVITY_TYPE_CREATE_WALLET", false]);
    assert.deepEqual(wallets, [walletId]);
  },

  async a_code_in_the_place_of_a_passkey_makes_no_wallet(page) {
    await underPolicy(page, "activity.resource == 'WALLET'", [session, passkey]);
    const seen = await page.evaluate(async () => {
      window.proof = "code";
      const refused = await errorOf(client.createWallet({ walletName: "guarded", accounts: ["ADDRESS_FORMAT_ETHEREUM"] }));
      return { refused, wallets: await client.fetchWallets() };
    });
    assert.equal(seen.refused.code, "BAD_RESPONSE"); // the activity waits, so it has no result
    assert.deepEqual(seen.wallets, []);
  },

  async a_login_by_code_asks_for_a_passkey_before_it_gives_a_session(page) {
    await underPolicy(page, "activity.resource == 'AUTH'", [code, passkey]);
    const seen = await page.evaluate(async () => {
      await client.logout();
      window.proof = "passkey";
      const { verificationToken } = await verified();
      await client.loginWithOtp({ verificationToken });
      return { asked, wallets: await client.fetchWallets() };
    });
    assert.deepEqual(seen, { asked: ["ACTIVITY_TYPE_STAMP_LOGIN", false], wallets: [] });
  },

  async a_login_by_passkey_asks_for_a_code_before_it_gives_a_session(page) {
    await underPolicy(page, "activity.resource == 'AUTH'", [code, passkey]);
    const seen = await page.evaluate(async () => {
      await client.logout();
      window.proof = "code";
      const { message } = await errorOf(client.loginWithPasskey());
      const publicKey = await client.createApiKeyPair();
      const { session } = await client.httpClient.stampLogin({ publicKey }, "passkey");
      await client.storeSession({ sessionToken: session });
      return { message, asked, wallets: await client.fetchWallets() };
    });
    assert.match(seen.message, /No active session/); // it asks for the login's state with the key of a session
    assert.deepEqual(seen.asked, ["ACTIVITY_TYPE_STAMP_LOGIN", false]);
    assert.deepEqual(seen.wallets, []);
  },
};

await run(cases);
