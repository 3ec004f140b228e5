// node cosmos.mjs CLIENT: the published wallet for cosmjs, over one published client. cosmjs verifies what it signs.
import assert from "node:assert/strict";
import { Secp256k1, Secp256k1Signature, sha256 } from "@cosmjs/crypto";
import { makeSignBytes } from "@cosmjs/proto-signing";
import { TurnkeyDirectWallet } from "@turnkey/cosmjs";
import { organizationId } from "./clients.mjs";
import { newPrivateKey, newUser, newUserWhoWaits, newWallet, report, root } from "./signers.mjs";

const account = (addressFormat) => ({
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/118'/0'/0/0",
  addressFormat: `ADDRESS_FORMAT_${addressFormat}`,
});
const [address, publicKey] = (await newWallet([account("COSMOS"), account("UNCOMPRESSED")])).addresses;
const privateKey = await newPrivateKey();
const walletOf = (client, signWith, prefix) =>
  TurnkeyDirectWallet.init({ config: { client: client.published, organizationId, signWith }, prefix });

const signDocOf = (accountNumber) => ({
  bodyBytes: Buffer.from("0a0b68656c6c6f20776f726c64", "hex"),
  authInfoBytes: Buffer.from("12040a021001", "hex"),
  chainId: "cosmoshub-4",
  accountNumber,
});
// Over @turnkey/http the wallet asks for a hash of the hash; no chain would take that, but it is what it asks for.
const hash = root.takesEnvelope ? (bytes) => sha256(sha256(bytes)) : sha256;

// The wallet refuses every hundredth signature: one whose r or s begins with a zero byte. Then another is asked for.
async function signed(wallet, accountNumber = 7n) {
  const [{ address, pubkey }] = await wallet.getAccounts();
  const signDoc = signDocOf(accountNumber);
  const unlucky = (error) => {
    if (!/must be encoded as unpadded big endian/.test(error.message)) throw error;
  };
  const made = await wallet.signDirect(address, signDoc).catch(unlucky);
  if (!made) return signed(wallet, accountNumber + 1n);
  const { signature } = made;
  const bytes = Buffer.from(signature.signature, "base64");
  const digest = hash(makeSignBytes(signDoc));
  assert.equal(signature.pub_key.value, Buffer.from(pubkey).toString("base64"));
  assert.ok(await Secp256k1.verifySignature(Secp256k1Signature.fromFixedLength(bytes), digest, pubkey));
  const [key, signedHex, over] = [pubkey, bytes, digest].map((one) => Buffer.from(one).toString("hex"));
  return [{ kind: "secp256k1", publicKey: key, signature: signedHex, digest: over }];
}

const cases = {
  async the_address_is_ours() {
    assert.equal((await walletOf(root, publicKey)).address, address);
    assert.match((await walletOf(root, publicKey, "osmo")).address, /^osmo1/);
  },

  async by_public_key() {
    return signed(await walletOf(root, publicKey));
  },

  async by_private_key() {
    return signed(await walletOf(root, privateKey.privateKeyId));
  },

  async a_signature_that_waits() {
    const ana = await walletOf(await newUserWhoWaits(), publicKey);
    // Over sdk-server the wallet does not look at the status, and stumbles over the signature that is not there.
    const error = root.takesEnvelope ? { activityStatus: "ACTIVITY_STATUS_CONSENSUS_NEEDED" } : TypeError;
    await assert.rejects(signed(ana), error);
  },

  async a_user_without_rights() {
    const eve = await walletOf(await newUser(), publicKey);
    await assert.rejects(signed(eve), { name: "TurnkeyRequestError", code: 7 });
  },
};

await report(cases);
