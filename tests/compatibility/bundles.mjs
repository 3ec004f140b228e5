// node bundles.mjs CLIENT: wallets and private keys in and out, sealed and opened by the published client's own code.
// Prints a JSON line per case: {case, error}, error null when it held.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import {
  decryptExportBundle,
  decryptSecretBundle,
  encryptPrivateKeyToBundle,
  encryptSecretToBundle,
  encryptWalletToBundle,
  generateP256KeyPair,
  getPublicKey,
} from "@turnkey/crypto";
import { clients, organizationId } from "./clients.mjs";

const client = clients[process.argv[2]]();
const userId = process.env.KEYSTEAD_USER_ID;
const unique = (name) => `${name} ${randomBytes(4).toString("hex")}`;
const submit = async (method, type, parameters) =>
  (await client.submit(method, `ACTIVITY_TYPE_${type}`, parameters)).result;

const mnemonic = `${"abandon ".repeat(11)}about`;
const ethereum = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
};
const ethereumAddress = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
const ethereumKey = "1ab42cc412b618bdea3a599e3c9bae199ebf030895b039e9db1e30dafb12b727";
const solana = {
  curve: "CURVE_ED25519",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/501'/0'/0'",
  addressFormat: "ADDRESS_FORMAT_SOLANA",
};

// What the server tells everybody, in the form in which the client takes it.
const told = await (await fetch(`${process.env.KEYSTEAD_BASE_URL}/bundle-signer`)).json();
const trusted = { organizationId, dangerouslyOverrideSignerPublicKey: told.signingPublicKey };

async function importedWallet(text, accounts = [ethereum, solana]) {
  const { importBundle } = await submit("initImportWallet", "INIT_IMPORT_WALLET", { userId });
  const encryptedBundle = await encryptWalletToBundle({ mnemonic: text, importBundle, userId, ...trusted });
  const parameters = { userId, walletName: unique("wallet"), encryptedBundle, accounts };
  return submit("importWallet", "IMPORT_WALLET", parameters);
}

async function importedKey(privateKey, keyFormat, curve, addressFormats) {
  const { importBundle } = await submit("initImportPrivateKey", "INIT_IMPORT_PRIVATE_KEY", { userId });
  const sealed = { privateKey, keyFormat, importBundle, userId, ...trusted };
  const encryptedBundle = await encryptPrivateKeyToBundle(sealed);
  const parameters = { userId, privateKeyName: unique("key"), encryptedBundle, curve, addressFormats };
  return submit("importPrivateKey", "IMPORT_PRIVATE_KEY", parameters);
}

async function exported(method, type, parameters, options = {}) {
  const { privateKey: embeddedKey, publicKeyUncompressed: targetPublicKey } = generateP256KeyPair();
  const { exportBundle } = await submit(method, type, { ...parameters, targetPublicKey });
  return decryptExportBundle({ exportBundle, embeddedKey, ...trusted, returnMnemonic: false, ...options });
}

const cases = {
  async a_wallet_comes_in_and_goes_out() {
    const { walletId, addresses } = await importedWallet(mnemonic);
    assert.equal(addresses[0], ethereumAddress);
    const { wallet } = await client.query("getWallet", { walletId });
    assert.deepEqual([wallet.imported, wallet.exported], [true, false]);
    const text = await exported("exportWallet", "EXPORT_WALLET", { walletId }, { returnMnemonic: true });
    assert.equal(text, mnemonic);
    assert.equal((await client.query("getWallet", { walletId })).wallet.exported, true);
  },

  async a_wallet_with_a_passphrase() {
    const { walletId, addresses } = await importedWallet(`${mnemonic}\n--PASS--\nhunter2`);
    assert.notEqual(addresses[0], ethereumAddress);
    const text = await exported("exportWallet", "EXPORT_WALLET", { walletId }, { returnMnemonic: true });
    assert.equal(text, `${mnemonic}\nhunter2`);
  },

  async a_wallet_made_here_goes_out_and_comes_back() {
    const parameters = { walletName: unique("wallet"), accounts: [ethereum, solana], mnemonicLength: 24 };
    const { walletId, addresses } = await submit("createWallet", "CREATE_WALLET", parameters);
    const text = await exported("exportWallet", "EXPORT_WALLET", { walletId }, { returnMnemonic: true });
    assert.equal(text.split(" ").length, 24);
    assert.deepEqual((await importedWallet(text)).addresses, addresses);
  },

  async an_account_goes_out() {
    const { addresses } = await importedWallet(mnemonic);
    const key = await exported("exportWalletAccount", "EXPORT_WALLET_ACCOUNT", { address: addresses[0] });
    assert.equal(key, ethereumKey);
  },

  async a_solana_account_goes_out_in_its_own_form() {
    const { addresses } = await importedWallet(mnemonic);
    const asked = { address: addresses[1] };
    const options = { keyFormat: "SOLANA" };
    const text = await exported("exportWalletAccount", "EXPORT_WALLET_ACCOUNT", asked, options);
    const again = await importedKey(text, "SOLANA", "CURVE_ED25519", ["ADDRESS_FORMAT_SOLANA"]);
    assert.deepEqual(again.addresses, [{ format: "ADDRESS_FORMAT_SOLANA", address: addresses[1] }]);
  },

  async a_private_key_comes_in_and_goes_out() {
    for (const text of [ethereumKey, `0x${ethereumKey}`]) {
      const formats = ["ADDRESS_FORMAT_ETHEREUM"];
      const made = await importedKey(text, "HEXADECIMAL", "CURVE_SECP256K1", formats);
      assert.deepEqual(made.addresses, [{ format: "ADDRESS_FORMAT_ETHEREUM", address: ethereumAddress }]);
      const { privateKeyId } = made;
      assert.equal(await exported("exportPrivateKey", "EXPORT_PRIVATE_KEY", { privateKeyId }), ethereumKey);
    }
  },

  async a_p256_key() {
    const { privateKey, publicKey } = generateP256KeyPair();
    const made = await importedKey(privateKey, "HEXADECIMAL", "CURVE_P256", ["ADDRESS_FORMAT_COMPRESSED"]);
    assert.equal(made.addresses[0].address, publicKey);
    const { privateKeyId } = made;
    const key = await exported("exportPrivateKey", "EXPORT_PRIVATE_KEY", { privateKeyId });
    assert.equal(Buffer.from(getPublicKey(Buffer.from(key, "hex"), true)).toString("hex"), publicKey);
  },

  async secrets_come_in_and_go_out() {
    const encryptionSuite = "TRANSPORT_ENCRYPTION_SUITE_ENCLAVE_ENCRYPT_V1";
    const texts = ["hunter2", JSON.stringify({ number: "4242", cvv: "123" })];
    const asked = { encryptionSuite, numSecrets: texts.length };
    // Not every published client has this operation yet.
    const begun = (await clients.http().submit("initImportSecrets", "ACTIVITY_TYPE_INIT_IMPORT_SECRETS", asked)).result;
    const name = unique("secret");
    const sealed = await Promise.all(
      begun.enclaveTargetMessages.map(async (ingressTargetBundle, at) => ({
        ...(await encryptSecretToBundle({ plaintext: texts[at], ingressTargetBundle, ...trusted })),
        encryptionSuite,
        name: `${name} ${at}`,
        staticProperties: [{ key: "kind", value: "card" }],
      })),
    );
    const { secretIds } = await submit("importSecrets", "IMPORT_SECRETS", { secrets: sealed });
    const { privateKey: embeddedPrivateKey, publicKeyUncompressed: targetPublicKey } = generateP256KeyPair();
    const secrets = secretIds.map((secretId) => ({ secretId, targetPublicKey, encryptionSuite }));
    const { secretPayloads } = await submit("exportSecrets", "EXPORT_SECRETS", { secrets });
    const opened = secretPayloads.map((secretPayload) =>
      decryptSecretBundle({ secretPayload, embeddedPrivateKey, ...trusted }),
    );
    assert.deepEqual(await Promise.all(opened), texts);
    const listed = await client.query("listSecrets", { paginationOptions: { limit: "2" } });
    assert.deepEqual(listed.secrets.map((secret) => secret.name).sort(), [`${name} 0`, `${name} 1`]);
  },

  async the_client_refuses_another_signer() {
    const { importBundle } = await submit("initImportWallet", "INIT_IMPORT_WALLET", { userId });
    const asked = { mnemonic, importBundle, userId, organizationId };
    await assert.rejects(encryptWalletToBundle(asked), /expected signer key/);
  },

  async a_bundle_for_another_wallet_import_is_refused() {
    const encryptedBundle = JSON.stringify({
      encappedPublic: generateP256KeyPair().publicKeyUncompressed,
      ciphertext: createHash("sha512").update("x").digest("hex"),
    });
    const parameters = { userId, walletName: unique("wallet"), encryptedBundle, accounts: [] };
    await assert.rejects(submit("importWallet", "IMPORT_WALLET", parameters), /failed to decrypt bundle/);
  },
};

for (const [name, body] of Object.entries(cases)) {
  const error = await body().then(() => null, (failure) => failure.stack);
  console.log(JSON.stringify({ case: name, error }));
}
