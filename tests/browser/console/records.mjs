// Reading every kind of record.
import assert from "node:assert/strict";
import { generateP256KeyPair } from "@turnkey/crypto";
import { fill, inspect, logIn, open, press, rootClient, run, settled, shows } from "./pages.mjs";

const { KEYSTEAD_ORGANIZATION_ID, KEYSTEAD_USER_ID } = process.env;
const MARKUP = `<img src=x onerror="window.ran=1">`;
const ABI = JSON.stringify([{ type: "function", name: "transfer", inputs: [{ name: "to", type: "address" }, { name: "value", type: "uint256" }], outputs: [], stateMutability: "nonpayable" }]);

/** One record of each kind, whose every text is markup. */
async function makeRecords() {
  const root = rootClient();
  const { walletId } = await root.createWallet({ walletName: MARKUP, accounts: [] });
  const { privateKeys } = await root.createPrivateKeys({ privateKeys: [{ privateKeyName: MARKUP, curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: ["ADDRESS_FORMAT_ETHEREUM"] }] });
  const privateKeyIds = privateKeys.map(({ privateKeyId }) => privateKeyId);
  await root.createUserTag({ userTagName: MARKUP, userIds: [KEYSTEAD_USER_ID] });
  await root.request("/public/v1/submit/create_wallet_authenticators", {
    type: "ACTIVITY_TYPE_CREATE_WALLET_AUTHENTICATORS", timestampMs: String(Date.now()), organizationId: KEYSTEAD_ORGANIZATION_ID,
    parameters: { userId: KEYSTEAD_USER_ID, walletAuthenticators: [{ type: "WALLET_AUTHENTICATOR_TYPE_ETHEREUM", address: "0x5fbdb2315678afecb367f032d93f642f64180aa3", domain: "page.example.com" }] } });
  await root.createMfaPolicy({ userId: KEYSTEAD_USER_ID, mfaPolicyName: MARKUP, notes: MARKUP, order: 0, condition: "activity.action == 'EXPORT'",
    requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" }] }] });
  await root.createPrivateKeyTag({ privateKeyTagName: MARKUP, privateKeyIds });
  const { smartContractInterfaceId } = await root.createSmartContractInterface({
    label: MARKUP, notes: MARKUP, type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM", smartContractAddress: "0x5fbdb2315678afecb367f032d93f642f64180aa3", smartContractInterface: ABI });
  const { subOrganizationId } = await root.createSubOrganization({
    subOrganizationName: MARKUP, rootQuorumThreshold: 1, rootUsers: [{ userName: MARKUP, apiKeys: [{ apiKeyName: MARKUP, publicKey: generateP256KeyPair().publicKey, curveType: "API_KEY_CURVE_P256" }], authenticators: [], oauthProviders: [] }] });
  const { sessionProfileId } = await root.createSessionProfile({ sessionProfileName: MARKUP, scope: "activity.action == 'SIGN'", notes: MARKUP });
  const { invitationIds } = await root.createInvitations({ invitations: [{ receiverUserName: MARKUP, receiverUserEmail: "someone@example.org", receiverUserTags: [], accessType: "ACCESS_TYPE_WEB", senderUserId: KEYSTEAD_USER_ID }] });
  const { endpointId } = await root.createWebhookEndpoint({ url: "http://localhost:9/<b>hook</b>", name: MARKUP, subscriptions: [{ eventType: "ACTIVITY_UPDATES" }] });
  await root.setIpAllowlist({ rules: [{ cidr: "192.0.2.0/24", label: MARKUP }], enabled: false });
  return { endpointId, sessionProfileId, invitationId: invitationIds[0], walletId, privateKeyId: privateKeyIds[0], smartContractInterfaceId, subOrganizationId };
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
      [`#/users/${KEYSTEAD_USER_ID}`, "page.example.com"],
      ["#/users/tags", MARKUP],
      ["#/contracts", MARKUP],
      [`#/contracts/${made.smartContractInterfaceId}`, "transfer"],
      ["#/sub-organizations", MARKUP],
      [`#/sub-organizations/${made.subOrganizationId}`, MARKUP],
      ["#/organization", "Root quorum"],
      ["#/organization", "192.0.2.0/24"],
      ["#/records/session_profiles", MARKUP],
      [`#/records/session_profiles/${made.sessionProfileId}`, MARKUP],
      ["#/records/webhook_endpoints", MARKUP],
      [`#/records/webhook_endpoints/${made.endpointId}`, MARKUP],
      ["#/records/invitations", MARKUP],
      [`#/records/invitations/${made.invitationId}`, "someone@example.org"],
      ["#/records/auth_proxy_configs", "Authentication proxies"],
      ["#/records/oauth2_credentials", "No OAuth 2.0 credentials"],
      ["#/records/nothing", "There are no such records"],
      ["#/audit", MARKUP],
      ["#/audit?question=keys", MARKUP],
      ["#/overview", "Activities by outcome"],
      ["#/actions", "Create wallet"],
      ["#/nowhere", "There is no such screen"],
    ]) {
      await open(page, address);
      await shows(page, text);
      await inspect(page);
      assert.equal(await page.evaluate(() => window.ran), undefined, address);
    }
  },

  async an_auditor_finds_who_exported_a_key(page) {
    const { walletId } = await rootClient().createWallet({ walletName: "Exported", accounts: [] });
    await rootClient().exportWallet({ walletId, targetPublicKey: generateP256KeyPair().publicKeyUncompressed });
    await logIn(page);
    await press(page, "Audit");
    await page.waitForSelector("#audit-question");
    await page.select("#audit-question", "exports");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    await shows(page, "Export the mnemonic of the wallet 'Exported'");
    await shows(page, "with the key “Development key”");
    await page.select("#audit-user", KEYSTEAD_USER_ID);
    await page.type("#audit-from", "01012020");
    await shows(page, "1 activity of 1");
    await page.reload();
    await settled(page);
    await shows(page, "1 activity of 1");
    await page.type("#audit-search", "nothing like this");
    await shows(page, "Nothing found");
    await inspect(page);
  },

  async a_record_without_a_screen_of_its_own_is_made_and_deleted(page) {
    await logIn(page);
    await press(page, "Session profiles");
    await press(page, "New session profile");
    await fill(page, "Session profile name", "Signers");
    await fill(page, "Scope", "activity.action == 'SIGN'");
    await inspect(page);
    await press(page, "Create session profile", "button");
    await shows(page, "Completed");
    await press(page, "Session profiles");
    await press(page, "Signers");
    await shows(page, "activity.action == 'SIGN'");
    await shows(page, "Session profile name");
    assert.deepEqual(await page.$$eval(".heading .button", (links) => links.map((link) => link.textContent)), []); // a profile never changes
  },

  async a_record_of_any_kind_is_listed_by_its_name(page) {
    const root = rootClient();
    await root.createWebhookEndpoint({ url: "http://localhost:9/ledger", name: "Ledger", subscriptions: [{ eventType: "ACTIVITY_UPDATES" }] });
    await logIn(page);
    await press(page, "Webhook endpoints");
    await press(page, "Ledger", ".row-link");
    await page.waitForFunction(() => document.querySelector("h1").textContent === "Ledger");
    await shows(page, "http://localhost:9/ledger");
    assert.deepEqual(await page.$$eval(".heading .button", (links) => links.map((link) => link.textContent.trim())), ["Update", "Delete"]);
    assert.ok(!(await page.$eval("main", (node) => node.innerText)).includes("Organization ID"));
  },

  async an_address_is_shown_as_a_qr_code(page) {
    const { privateKeys } = await rootClient().createPrivateKeys({ privateKeys: [{ privateKeyName: "Receives", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: ["ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_TRON"] }] });
    await logIn(page);
    for (const [list, name, address] of [["#/wallets", "Development", "0x"], ["#/private-keys", "Receives", privateKeys[0].addresses.find(({ format }) => format === "ADDRESS_FORMAT_TRON").address]]) {
      await open(page, list);
      await press(page, name, ".row-link");
      await settled(page);
      await (await page.waitForSelector(`button[aria-label^='Fund ${address}']`)).click();
      await page.waitForSelector(`dialog svg[role=img][aria-label^='QR code of ${address}']`);
      await inspect(page);
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !document.querySelector("dialog"));
    }
  },
};

await run(cases);
