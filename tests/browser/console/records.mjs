// Reading every kind of record.
import assert from "node:assert/strict";
import { generateP256KeyPair } from "@turnkey/crypto";
import { inspect, logIn, open, press, rootClient, run, settled, shows } from "./pages.mjs";

const { KEYSTEAD_USER_ID } = process.env;
const MARKUP = `<img src=x onerror="window.ran=1">`;
const ABI = JSON.stringify([{ type: "function", name: "transfer", inputs: [{ name: "to", type: "address" }, { name: "value", type: "uint256" }], outputs: [], stateMutability: "nonpayable" }]);

/** One record of each kind, whose every text is markup. */
async function makeRecords() {
  const root = rootClient();
  const { walletId } = await root.createWallet({ walletName: MARKUP, accounts: [] });
  const { privateKeys } = await root.createPrivateKeys({ privateKeys: [{ privateKeyName: MARKUP, curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: ["ADDRESS_FORMAT_ETHEREUM"] }] });
  const privateKeyIds = privateKeys.map(({ privateKeyId }) => privateKeyId);
  await root.createUserTag({ userTagName: MARKUP, userIds: [KEYSTEAD_USER_ID] });
  await root.createMfaPolicy({ userId: KEYSTEAD_USER_ID, mfaPolicyName: MARKUP, notes: MARKUP, order: 0, condition: "activity.action == 'EXPORT'",
    requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" }] }] });
  await root.createPrivateKeyTag({ privateKeyTagName: MARKUP, privateKeyIds });
  const { smartContractInterfaceId } = await root.createSmartContractInterface({
    label: MARKUP, notes: MARKUP, type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM", smartContractAddress: "0x5fbdb2315678afecb367f032d93f642f64180aa3", smartContractInterface: ABI });
  const { subOrganizationId } = await root.createSubOrganization({
    subOrganizationName: MARKUP, rootQuorumThreshold: 1, rootUsers: [{ userName: MARKUP, apiKeys: [{ apiKeyName: MARKUP, publicKey: generateP256KeyPair().publicKey, curveType: "API_KEY_CURVE_P256" }], authenticators: [], oauthProviders: [] }] });
  return { walletId, privateKeyId: privateKeyIds[0], smartContractInterfaceId, subOrganizationId };
}

const cases = {
  async every_record_is_shown_and_its_text_stays_text(page) {
    const made = await makeRecords();
    await logIn(page);
    for (const [address, text] of [
      ["#/wallets", MARKUP],
      [`#/wallets/${made.walletId}`, MARKUP],
      ["#/private-keys", MARKUP],
      [`#/private-keys/${made.privateKeyId}`, MARKUP],
      ["#/private-keys/tags", MARKUP],
      ["#/users", MARKUP],
      [`#/users/${KEYSTEAD_USER_ID}`, MARKUP],
      ["#/users/tags", MARKUP],
      ["#/contracts", MARKUP],
      [`#/contracts/${made.smartContractInterfaceId}`, "transfer"],
      ["#/sub-organizations", made.subOrganizationId],
      [`#/sub-organizations/${made.subOrganizationId}`, MARKUP],
      ["#/organization", "Root quorum"],
      ["#/actions", "Create wallet"],
      ["#/nowhere", "There is no such screen"],
    ]) {
      await open(page, address);
      await shows(page, text);
      await inspect(page);
      assert.equal(await page.evaluate(() => window.ran), undefined, address);
    }
  },

  async an_address_is_shown_as_a_qr_code(page) {
    await logIn(page);
    await open(page, "#/wallets");
    await press(page, "Development", ".row-link");
    await settled(page);
    await (await page.waitForSelector("button[aria-label^='QR code of 0x']")).click();
    await page.waitForSelector("dialog svg[role=img]");
    await inspect(page);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog"));
  },
};

await run(cases);
