// node sessions.mjs: a backend that logs people in through @turnkey/sdk-server, and verifies what it got before it trusts
// it, with the code of @turnkey/crypto. Prints a JSON line per case: {case, error}, error null when it held.
import assert from "node:assert/strict";
import { createPrivateKey, randomUUID, sign } from "node:crypto";
import {
  decryptCredentialBundle,
  encryptOtpCodeToBundle,
  generateP256KeyPair,
  getPublicKey,
  verifyOtpVerificationToken,
  verifySessionJwtSignature,
} from "@turnkey/crypto";
import { codeFor } from "../browser/outbox.mjs";
import { clients } from "./clients.mjs";

const client = clients["sdk-server"]().published;
const { keys } = await (await fetch(`${process.env.KEYSTEAD_BASE_URL}/installation-keys`)).json();
const installationKey = (name) => keys.find((key) => key.name === name).publicKey;
const sessionKey = installationKey("session_key");
const verificationKey = installationKey("verification_key");
const anotherKey = generateP256KeyPair().publicKeyUncompressed;

const claimsOf = (jwt) => JSON.parse(Buffer.from(jwt.split(".")[1], "base64url"));
const withClaims = (jwt, changed) => {
  const [header, , signature] = jwt.split(".");
  const payload = Buffer.from(JSON.stringify({ ...claimsOf(jwt), ...changed })).toString("base64url");
  return [header, payload, signature].join(".");
};

async function assertSession(session, { publicKey, organizationId }) {
  assert.equal(await verifySessionJwtSignature(session, sessionKey), true);
  assert.equal(await verifySessionJwtSignature(session, anotherKey), false);
  assert.equal(await verifySessionJwtSignature(withClaims(session, { user_id: randomUUID() }), sessionKey), false);
  const claims = claimsOf(session);
  assert.deepEqual([claims.public_key, claims.organization_id], [publicKey, organizationId]);
}

async function assertUsable({ publicKey, privateKey }, organizationId) {
  const asker = clients["sdk-server"]({ apiPublicKey: publicKey, apiPrivateKey: privateKey }).published;
  assert.equal((await asker.getWhoami({ organizationId })).organizationId, organizationId);
}

/** The JSON message, signed as a client signs the use of a verification token: r and s, in hex. */
function clientSignature(message, { publicKey, privateKey }) {
  const point = Buffer.from(getPublicKey(Buffer.from(privateKey, "hex"), false));
  const [x, y, d] = [point.subarray(1, 33), point.subarray(33), Buffer.from(privateKey, "hex")].map((bytes) =>
    bytes.toString("base64url"),
  );
  const key = createPrivateKey({ key: { kty: "EC", crv: "P-256", x, y, d }, format: "jwk" });
  const text = JSON.stringify(message);
  const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("hex");
  return { publicKey, scheme: "CLIENT_SIGNATURE_SCHEME_API_P256", message: text, signature };
}

/** Someone with an e-mail address and a key, in a sub-organization of their own. */
async function person() {
  const contact = `${randomUUID()}@example.org`;
  const own = generateP256KeyPair();
  const key = { apiKeyName: "key", publicKey: own.publicKey, curveType: "API_KEY_CURVE_P256" };
  const user = { userName: "user", userEmail: contact, apiKeys: [key], authenticators: [], oauthProviders: [] };
  const asked = { subOrganizationName: "person", rootQuorumThreshold: 1, rootUsers: [user] };
  return { contact, own, organizationId: (await client.createSubOrganization(asked)).subOrganizationId };
}

const cases = {
  async stamp_login() {
    const { own, organizationId } = await person();
    const asker = clients["sdk-server"]({ apiPublicKey: own.publicKey, apiPrivateKey: own.privateKey }).published;
    const session = generateP256KeyPair();
    const answer = await asker.stampLogin({ organizationId, publicKey: session.publicKey, expirationSeconds: "60" });
    await assertSession(answer.session, { publicKey: session.publicKey, organizationId });
    await assertUsable(session, organizationId);
  },

  async otp_login() {
    const { contact, organizationId } = await person();
    const [tokenKey, session] = [generateP256KeyPair(), generateP256KeyPair()];
    const otpType = "OTP_TYPE_EMAIL";
    const { otpId, otpEncryptionTargetBundle } = await client.initOtp({ otpType, contact, appName: "Wallets" });
    const code = await codeFor(contact);
    const encryptedOtpBundle = await encryptOtpCodeToBundle(
      code,
      otpEncryptionTargetBundle,
      tokenKey.publicKey,
      verificationKey,
    );
    const { verificationToken } = await client.verifyOtp({ otpId, encryptedOtpBundle });
    const claims = await verifyOtpVerificationToken(verificationToken, verificationKey);
    assert.deepEqual([claims.contact, claims.public_key], [contact, tokenKey.publicKey]);
    await assert.rejects(verifyOtpVerificationToken(verificationToken, anotherKey), /signature is invalid/);
    const message = { login: { publicKey: session.publicKey }, tokenId: claims.id, type: "USAGE_TYPE_LOGIN" };
    const asked = {
      organizationId,
      verificationToken,
      publicKey: session.publicKey,
      clientSignature: clientSignature(message, tokenKey),
    };
    const answer = await client.otpLogin(asked);
    await assertSession(answer.session, { publicKey: session.publicKey, organizationId });
    await assertUsable(session, organizationId);
  },

  async a_session_in_a_bundle() {
    const { own, organizationId } = await person();
    const asker = clients["sdk-server"]({ apiPublicKey: own.publicKey, apiPrivateKey: own.privateKey }).published;
    const target = generateP256KeyPair();
    const asked = { organizationId, targetPublicKey: target.publicKeyUncompressed };
    const { credentialBundle } = await asker.createReadWriteSession(asked);
    const privateKey = decryptCredentialBundle(credentialBundle, target.privateKey);
    const publicKey = Buffer.from(getPublicKey(Buffer.from(privateKey, "hex"), true)).toString("hex");
    await assertUsable({ publicKey, privateKey }, organizationId);
  },
};

for (const [name, body] of Object.entries(cases)) {
  const error = await body().then(() => null, (failure) => failure.stack);
  console.log(JSON.stringify({ case: name, error }));
}
