// node wallet_logins.mjs: people with wallets outside, as the newest kit logs them in. viem writes and signs the messages of
// Ethereum, @noble signs those of Solana. The published attested stamper stamps the login, with the name of the wallets'
// scheme, which it does not know yet. Prints a JSON line per case: {case, error}, error null when it held.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { Keypair } from "@solana/web3.js";
import { ApiKeyStamper } from "@turnkey/api-key-stamper";
import { generateP256KeyPair } from "@turnkey/crypto";
import { TurnkeyClient } from "@turnkey/http";
import { getAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { createSiweMessage } from "viem/siwe";
import { AttestedStamper } from "../node_modules/@turnkey/core/dist/__stampers__/attested/base.mjs";

const { KEYSTEAD_BASE_URL: baseUrl, KEYSTEAD_ORGANIZATION_ID: organizationId, KEYSTEAD_PROXY_ID: proxyId } = process.env;
const domain = "localhost:3000"; // a development server accepts pages of this machine

async function proxy(endpoint, body) {
  const headers = { "X-Auth-Proxy-Config-ID": proxyId, Origin: `http://${domain}`, "Content-Type": "application/json" };
  const answer = await fetch(`${baseUrl}/auth-proxy/v1/${endpoint}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}

const message = (address, protocol, sessionKey) =>
  createSiweMessage({
    address,
    chainId: 1,
    domain,
    expirationTime: new Date(Date.now() + 600_000),
    issuedAt: new Date(),
    nonce: sessionKey,
    resources: [`urn:turnkey:wallet-protocol:${protocol}`, `urn:turnkey:session-key:${sessionKey}`],
    statement: "Authorize this key for wallet authentication.",
    uri: `http://${domain}/login`,
    version: "1",
  });

function ethereumWallet() {
  const account = privateKeyToAccount(generatePrivateKey());
  return {
    type: "WALLET_AUTHENTICATOR_TYPE_ETHEREUM",
    address: account.address,
    sign: async (key) => {
      const text = message(getAddress(account.address), "siwe", key);
      return { message: text, signature: await account.signMessage({ message: text }) };
    },
  };
}

function solanaWallet() {
  const seed = randomBytes(32);
  const address = Keypair.fromSeed(seed).publicKey.toBase58();
  const placeholder = privateKeyToAccount(generatePrivateKey()).address;
  return {
    type: "WALLET_AUTHENTICATOR_TYPE_SOLANA",
    address,
    sign: async (key) => {
      const text = message(placeholder, "siws", key)
        .replace("Ethereum account", "Solana account")
        .replace(placeholder, address)
        .replace("Chain ID: 1", "Chain ID: solana");
      return { message: text, signature: Buffer.from(ed25519.sign(Buffer.from(text), seed)).toString("hex") };
    },
  };
}

/** The token for a new session's key, and the key. */
async function proven(wallet) {
  const key = generateP256KeyPair();
  const { verificationToken } = await proxy("verify_wallet_authenticator", await wallet.sign(key.publicKey));
  return { key, token: verificationToken };
}

async function login({ key, token }, suborganizationId) {
  const own = new ApiKeyStamper({ apiPublicKey: key.publicKey, apiPrivateKey: key.privateKey });
  const stamper = new AttestedStamper(own);
  const scheme = "STAMP_ATTESTED_SCHEME_P256_WALLET_VERIFICATION_TOKEN";
  stamper.configure({ attestedIdentity: token, publicKey: key.publicKey, scheme });
  const { activity } = await new TurnkeyClient({ baseUrl }, stamper).stampLogin({
    type: "ACTIVITY_TYPE_STAMP_LOGIN",
    timestampMs: String(Date.now()),
    organizationId: suborganizationId,
    parameters: { publicKey: key.publicKey, expirationSeconds: "900" },
  });
  assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
  return new TurnkeyClient({ baseUrl }, own).getWhoami({ organizationId: suborganizationId });
}

async function signsUpAndLogsIn(wallet) {
  const first = await proven(wallet);
  assert.deepEqual(await proxy("account", { filterType: "WALLET_AUTH_TOKEN", filterValue: first.token }), {});
  const { type, address } = wallet;
  const made = await proxy("signup_v3", {
    userName: "Somebody",
    apiKeys: [],
    authenticators: [],
    oauthProviders: [],
    walletAuthenticators: [{ type, address, domain, verificationToken: first.token }],
  });
  assert.equal((await login(first, made.organizationId)).userId, made.userId);

  const later = await proven(wallet);
  const found = await proxy("account", { filterType: "WALLET_AUTH_TOKEN", filterValue: later.token });
  assert.equal(found.organizationId, made.organizationId);
  assert.equal((await login(later, found.organizationId)).userId, made.userId);
  assert.notEqual(made.organizationId, organizationId);
}

const cases = { ethereum: () => signsUpAndLogsIn(ethereumWallet()), solana: () => signsUpAndLogsIn(solanaWallet()) };
for (const [name, run] of Object.entries(cases)) {
  const error = await run().then(
    () => null,
    (thrown) => String(thrown.stack ?? thrown),
  );
  console.log(JSON.stringify({ case: name, error }));
}
