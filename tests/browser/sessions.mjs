// People who sign up and log in with a passkey through @turnkey/core, and what becomes of their sessions.
import assert from "node:assert/strict";
import { run } from "./cases.mjs";

const cases = {
  async a_passkey_signs_up_works_refreshes_and_logs_out_and_in(page) {
    const seen = await page.evaluate(async () => {
      const client = await connect();
      await client.signUpWithPasskey({ passkeyDisplayName: "laptop" });
      const signedUp = await client.getSession();
      const walletId = await client.createWallet({ walletName: "savings", accounts: ["ADDRESS_FORMAT_ETHEREUM"] });
      const [wallet] = await client.fetchWallets();
      const signed = await client.signMessage({ message: "hello", walletAccount: wallet.accounts[0] });
      await client.refreshSession({ invalidateExisitng: true });
      const refreshed = await client.getSession();
      const user = await client.fetchUser();
      await client.logout();
      const loggedOut = await errorOf(client.fetchWallets());
      await client.loginWithPasskey();
      const loggedIn = await client.getSession();
      const [again] = await client.fetchWallets();
      return { signedUp, walletId, wallet, signed, refreshed, user, loggedOut, loggedIn, again };
    });
    const { signedUp, refreshed, loggedIn } = seen;
    assert.notEqual(signedUp.organizationId, process.env.KEYSTEAD_ORGANIZATION_ID);
    assert.deepEqual([seen.wallet.walletId, seen.wallet.walletName], [seen.walletId, "savings"]);
    assert.match(seen.signed.r + seen.signed.s, /^[0-9a-f]{128}$/);
    for (const session of [refreshed, loggedIn]) {
      assert.equal(session.organizationId, signedUp.organizationId);
      assert.equal(session.userId, signedUp.userId);
      assert.notEqual(session.publicKey, signedUp.publicKey);
    }
    assert.deepEqual(seen.user.authenticators.map(({ authenticatorName }) => authenticatorName), ["laptop"]);
    assert.equal(seen.loggedOut.code, "NO_SESSION_FOUND");
    assert.equal(seen.again.walletId, seen.walletId);
  },

  async an_expired_session_is_noticed(page) {
    const seen = await page.evaluate(async () => {
      const client = await connect();
      await client.signUpWithPasskey({ expirationSeconds: "1" });
      let refused = null;
      while (refused === null) refused = await errorOf(client.fetchWallets());
      return refused;
    });
    assert.equal(seen.code, "SESSION_EXPIRED", seen.message);
  },

  async a_session_that_another_login_ended_is_noticed(page) {
    const seen = await page.evaluate(async () => {
      const client = await connect();
      await client.signUpWithPasskey();
      await client.loginWithPasskey({ sessionKey: "second" });
      await client.setActiveSession({ sessionKey: "second" });
      await client.refreshSession({ sessionKey: "second", invalidateExisitng: true });
      const sessions = await client.getAllSessions();
      const [first] = Object.keys(sessions).filter((key) => key !== "second");
      await client.setActiveSession({ sessionKey: first });
      return errorOf(client.fetchWallets());
    });
    assert.equal(seen.code, "SESSION_EXPIRED", seen.message);
  },
};

await run(cases);
