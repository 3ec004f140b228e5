// Cases in a real browser: sub-organizations by passkey, with the published kits. Reports a JSON line for each case.
import assert from "node:assert/strict";
import { bundled } from "./bundle.mjs";
import { launch, openPage, servePage } from "./browser.mjs";
import { parent } from "./parent.mjs";

const baseUrl = process.env.KEYSTEAD_BASE_URL;

const cases = {
  async sub_organization_by_passkey(page) {
    const attested = await page.evaluate(async () => {
      const challenge = crypto.getRandomValues(new Uint8Array(32));
      const attestation = await kits.http.getWebAuthnAttestation({
        publicKey: {
          rp: { id: "localhost", name: "Test" },
          challenge,
          pubKeyCredParams: [{ type: "public-key", alg: -7 }],
          authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "preferred" },
          user: { id: crypto.getRandomValues(new Uint8Array(16)), name: "user", displayName: "User" },
        },
      });
      return { attestation, challenge: btoa(String.fromCharCode(...challenge)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "") };
    });
    const made = await parent().createSubOrganization({
      subOrganizationName: "by passkey",
      rootQuorumThreshold: 1,
      rootUsers: [
        {
          userName: "user",
          apiKeys: [],
          oauthProviders: [],
          authenticators: [{ authenticatorName: "passkey", ...attested }],
        },
      ],
      wallet: {
        walletName: "first",
        accounts: [
          {
            curve: "CURVE_SECP256K1",
            pathFormat: "PATH_FORMAT_BIP32",
            path: "m/44'/60'/0'/0/0",
            addressFormat: "ADDRESS_FORMAT_ETHEREUM",
          },
        ],
      },
    });
    const wallets = await page.evaluate(
      async (baseUrl, organizationId) => {
        const stamper = new kits.WebauthnStamper({ rpId: "localhost" });
        const client = new kits.http.TurnkeyClient({ baseUrl }, stamper);
        return client.getWallets({ organizationId });
      },
      baseUrl,
      made.subOrganizationId,
    );
    assert.deepEqual(wallets.wallets.map(({ walletName }) => walletName), ["first"]);
  },
};

const served = await servePage({ "/kits.js": await bundled(new URL("./page/kits.js", import.meta.url).pathname) });
const browser = await launch();
for (const [name, run] of Object.entries(cases)) {
  const opened = await openPage(browser, served.url);
  let error = null;
  try {
    await run(opened.page);
    assert.deepEqual(opened.problems, []);
  } catch (failed) {
    error = failed.stack;
  }
  console.log(JSON.stringify({ case: name, error }));
  await opened.close();
}
await browser.close();
served.close();
