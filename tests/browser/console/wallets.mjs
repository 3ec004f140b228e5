// Wallets by hand: made, named, funded, imported, exported in the browser; and messages that they sign.
import assert from "node:assert/strict";
import { ECDH } from "node:crypto";
import { generateP256KeyPair, hpkeDecrypt } from "@turnkey/crypto";
import { verifyMessage, verifyTypedData } from "ethers";
import { clientOf, fill, inspect, logIn, open, press, rootClient, run, settled, shows } from "./pages.mjs";

const { KEYSTEAD_USER_ID, KEYSTEAD_ORGANIZATION_ID } = process.env;
const WORDS = "test test test test test test test test test test test junk";
const ITS_ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

const walletNamed = async (name) => (await rootClient().getWallets()).wallets.find(({ walletName }) => walletName === name);
const exported = (page) => page.$$eval(".words li", (items) => items.map((item) => item.textContent).join(" "));

/** Imports a wallet with the form. */
async function bring(page, name, words = WORDS) {
  await open(page, "#/wallets");
  await press(page, "Import");
  await settled(page);
  await fill(page, "Name", name);
  await fill(page, "Words", words);
  await press(page, "Import the wallet", "button");
}

/** Chooses an account and signs a message with it; the signature. */
async function sign(page, account, kind, text) {
  await open(page, "#/overview");
  await open(page, "#/sign");
  await press(page, account, ".option b");
  if (kind) await fill(page, "Kind", kind);
  await fill(page, kind ? "Typed data" : "Message", text);
  await inspect(page);
  await press(page, "Sign", "form button");
  await shows(page, "Signature");
  await inspect(page);
  return page.$eval(".secret code", (node) => node.textContent);
}

const cases = {
  async a_wallet_is_made_named_and_funded(page) {
    await logIn(page);
    await open(page, "#/wallets");
    await press(page, "New wallet");
    await settled(page);
    await inspect(page);
    await fill(page, "Name", "Treasury");
    await fill(page, "Words", "24");
    await press(page, "Solana", "label");
    await press(page, "Create the wallet", "button");
    await shows(page, "The wallet is ready.");
    await settled(page);
    const { walletId } = await walletNamed("Treasury");
    const { accounts } = await rootClient().getWalletAccounts({ walletId });
    assert.deepEqual(accounts.map(({ addressFormat }) => addressFormat), ["ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_SOLANA"]);
    await inspect(page);
    await press(page, "Add a name");
    await fill(page, "Name", "Payroll");
    await inspect(page);
    await press(page, "Save", "dialog button");
    await shows(page, "The name was changed.");
    await shows(page, "Payroll");
    await press(page, "Fund");
    await shows(page, "Send to this address from another wallet or an exchange.");
    await page.keyboard.press("Escape");
    await press(page, "Rename", ".heading button");
    await fill(page, "Name", "Reserve");
    await press(page, "Save", "dialog button");
    await page.waitForFunction(() => document.querySelector("h1").textContent === "Reserve");
  },

  async words_that_are_imported_come_out_again(page) {
    const sent = [];
    page.on("request", (request) => sent.push(request.postData() ?? ""));
    await logIn(page);
    await open(page, "#/wallets/import");
    await fill(page, "Words", "only three words");
    await shows(page, "These are 3 words; expected 12, 15, 18, 21 or 24.");
    await inspect(page);
    await bring(page, "Brought", `  ${WORDS.replaceAll(" ", "\n ")} `);
    await shows(page, "The wallet was imported.");
    await shows(page, ITS_ADDRESS);
    await press(page, "Export", "button");
    await shows(page, "This browser shows the words of the wallet once.");
    await inspect(page);
    await press(page, "Export with this browser’s key", "button");
    await page.waitForSelector(".words");
    assert.equal(await exported(page), WORDS);
    await inspect(page);
    for (const each of sent) assert.ok(!each.includes("junk"), each); // the words never left this browser in the open
    await press(page, "I have written them down", "button");
    await shows(page, "Exported");
    const { activities } = await rootClient().getActivities({ filterByType: ["ACTIVITY_TYPE_EXPORT_WALLET"] });
    await open(page, `#/activities/${activities[0].id}`);
    await shows(page, "What it asks");
    assert.ok(!(await page.$eval("main", (node) => node.innerText)).includes("Show the words")); // once
  },

  async words_that_are_wrong_are_refused_and_kept_in_the_form(page) {
    await logIn(page);
    await bring(page, "Wrong", WORDS.replace("junk", "test"));
    await page.waitForSelector(".notice.bad");
    assert.equal(await page.$eval("textarea", (field) => field.value), WORDS.replace("junk", "test"));
    assert.equal(await walletNamed("Wrong"), undefined);
  },

  async an_export_that_others_approve_is_shown_where_it_was_asked_for(page) {
    const { publicKey, privateKey } = generateP256KeyPair();
    const root = rootClient();
    const { userIds } = await root.createUsers({ users: [{ userName: "Second", apiKeys: [{ apiKeyName: "Key", publicKey, curveType: "API_KEY_CURVE_P256" }], authenticators: [], oauthProviders: [], userTags: [] }] });
    await logIn(page);
    await bring(page, "Shared");
    await shows(page, "The wallet was imported.");
    await root.updateRootQuorum({ threshold: 2, userIds: [KEYSTEAD_USER_ID, userIds[0]] });
    try {
      await press(page, "Export", "button");
      await press(page, await page.$eval("dialog .danger-fill", (button) => button.textContent.trim()), "button");
      await shows(page, "The export waits for the approval of others.");
      const { activities } = await root.getActivities({ filterByStatus: ["ACTIVITY_STATUS_CONSENSUS_NEEDED"] });
      await clientOf({ publicKey, privateKey }).approveActivity({ fingerprint: activities[0].fingerprint });
      await press(page, "Show the words", "button");
      await page.waitForSelector(".words");
      assert.equal(await exported(page), WORDS);
      await inspect(page);
      await page.reload();
      await shows(page, "What it asks");
      assert.ok(!(await page.$eval("main", (node) => node.innerText)).includes("Show the words"));
    } finally {
      const { activity } = await root.updateRootQuorum({ threshold: 1, userIds: [KEYSTEAD_USER_ID] });
      await clientOf({ publicKey, privateKey }).approveActivity({ fingerprint: activity.fingerprint });
    }
  },

  async messages_are_signed_as_wallets_sign_them(page) {
    await logIn(page);
    await bring(page, "Signs");
    await shows(page, "The wallet was imported.");
    const text = "I agree — 同意\n1 of 2";
    assert.equal(verifyMessage(text, await sign(page, "Signs", "", text)), ITS_ADDRESS);
    const types = { Mail: [{ name: "to", type: "string" }] };
    const typed = { domain: { name: "Test", chainId: 1 }, types: { EIP712Domain: [{ name: "name", type: "string" }, { name: "chainId", type: "uint256" }], ...types }, primaryType: "Mail", message: { to: "Ann" } };
    const last = await sign(page, "Signs", "1", JSON.stringify(typed));
    assert.equal(verifyTypedData(typed.domain, types, typed.message, last), ITS_ADDRESS);
    await press(page, "The activity on record");
    await shows(page, "Result");
    await shows(page, last); // the whole signature is on record, too
    await inspect(page);
  },

  async bundles_of_anybody_else_are_not_opened(page) {
    await logIn(page);
    const { publicKey, privateKey } = generateP256KeyPair();
    const sealed = await page.evaluate(async (publicKeyUncompressed) => {
      const { seal } = await import("/console/session/hpke.js");
      return seal(new TextEncoder().encode("for your eyes"), publicKeyUncompressed);
    }, uncompressed(publicKey));
    const open = (change) => hpkeDecrypt({ ciphertextBuf: bytes(change.ciphertext ?? sealed.ciphertext), encappedKeyBuf: bytes(change.encappedPublic ?? sealed.encappedPublic), receiverPriv: privateKey });
    assert.equal(new TextDecoder().decode(open({})), "for your eyes");
    assert.throws(() => open({ ciphertext: flipped(sealed.ciphertext) }));
    const { walletId } = await rootClient().createWallet({ walletName: "Tampered", accounts: [] });
    const problems = await page.evaluate(async (organizationId, walletId) => {
      const [{ makeTargetKey }, { exportedIn }, { submit }] = await Promise.all(["session/hpke.js", "session/bundles.js", "api/calls.js"].map((name) => import(`/console/${name}`)));
      const target = await makeTargetKey();
      const { result } = await submit("export_wallet", "ACTIVITY_TYPE_EXPORT_WALLET", { walletId, targetPublicKey: target.publicKey });
      const bundle = JSON.parse(result.exportWalletResult.exportBundle);
      const opened = (changed, id = organizationId, key = target) => exportedIn(JSON.stringify({ ...bundle, ...changed }), id, key).then(() => "opened", (error) => error.message || error.name);
      const flip = (hex) => hex.slice(0, -2) + (hex.endsWith("00") ? "01" : "00");
      return {
        whole: await opened({}),
        data: await opened({ data: flip(bundle.data) }),
        dataSignature: await opened({ dataSignature: flip(bundle.dataSignature) }),
        enclaveQuorumPublic: await opened({ enclaveQuorumPublic: target.publicKey }),
        version: await opened({ version: "v0" }),
        organization: await opened({}, walletId),
        key: await opened({}, organizationId, await makeTargetKey()),
      };
    }, KEYSTEAD_ORGANIZATION_ID, walletId);
    const { whole, ...others } = problems;
    assert.equal(whole, "opened");
    for (const [what, problem] of Object.entries(others)) assert.notEqual(problem, "opened", what);
  },

  async a_passkey_exports_where_there_is_one(page) {
    await logIn(page);
    await bring(page, "Guarded");
    await shows(page, "The wallet was imported.");
    await open(page, `#/users/${KEYSTEAD_USER_ID}`);
    await press(page, "Add a passkey");
    await shows(page, "The passkey was added.");
    await open(page, `#/wallets/${(await walletNamed("Guarded")).walletId}`);
    await press(page, "Export", "button");
    await press(page, "Export with a passkey", "button");
    await page.waitForSelector(".words");
    const { activities } = await rootClient().getActivities({ filterByType: ["ACTIVITY_TYPE_EXPORT_WALLET"] });
    assert.equal(activities[0].votes[0].scheme, "SIGNATURE_SCHEME_TK_WEBAUTHN");
  },
};

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const flipped = (hex) => hex.slice(0, -2) + (hex.endsWith("00") ? "01" : "00");
const uncompressed = (publicKey) => ECDH.convertKey(publicKey, "prime256v1", "hex", "hex", "uncompressed");

await run(cases);
