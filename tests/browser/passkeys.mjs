// A backend makes sub-organizations by passkey; the passkey stamps requests without a session.
import assert from "node:assert/strict";
import { run } from "./cases.mjs";
import { parent } from "./parent.mjs";

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
      async (organizationId) => {
        const stamper = new kits.WebauthnStamper({ rpId: "localhost" });
        const client = new kits.http.TurnkeyClient({ baseUrl: server.apiBaseUrl }, stamper);
        return client.getWallets({ organizationId });
      },
      made.subOrganizationId,
    );
    assert.deepEqual(wallets.wallets.map(({ walletName }) => walletName), ["first"]);
  },
};

await run(cases);
