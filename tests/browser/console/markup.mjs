// Markup in every field of every operation of the catalogue, then in every screen that shows it: it stays text.
import assert from "node:assert/strict";
import { generateP256KeyPair } from "@turnkey/crypto";
import { logIn, open, rootClient, run, settled } from "./pages.mjs";

const { KEYSTEAD_USER_ID } = process.env;
const MARKUP = `<img src=x onerror="window.ran=1">`;
const ADDRESS = `0x${"ab".repeat(20)}`;
const PUBLIC_KEY = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

/** What the server takes in a field where it does not take any text, by the name of the member. */
const VALID = {
  userId: KEYSTEAD_USER_ID, userIds: [], userTags: [], userTagIds: [], privateKeyTags: [], addUserIds: [], removeUserIds: [], privateKeyIds: [], authenticators: [], oauthProviders: [],
  addressFormats: [], accounts: [], subscriptions: [{ eventType: "ACTIVITY_UPDATES" }], condition: "true", consensus: "true", scope: "activity.action == 'SIGN'", time: undefined,
  userEmail: "a@example.org", userPhoneNumber: "+15555550100", url: "http://127.0.0.1:9/hook", smartContractAddress: ADDRESS, smartContractInterface: "[]", publicKey: PUBLIC_KEY,
  threshold: 1, rootQuorumThreshold: 1, payload: MARKUP, encoding: "PAYLOAD_ENCODING_TEXT_UTF8", hashFunction: "HASH_FUNCTION_SHA256", receiverUserEmail: "b@example.org",
  requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" }] }], order: 7, ipAddresses: ["127.0.0.0/8"], mnemonicLength: 12,
};

/** Those that would end the test's own access, or only take away: they get markup in their fields, and no valid values. */
const NEVER_VALID = /^(delete|remove|disable|update_root_quorum|set_ip_allowlist|update_organization_name$|reject|approve|recover|create_mfa_policy)/;

/** The operations, and for each what its form would send: markup wherever there is text. `valid`: and what is taken elsewhere. */
const operationsIn = (page, valid) => page.evaluate(async (MARKUP, valid) => {
  const { operations, schemas } = await import("/console/api/catalogue.js");
  const { plain } = await import("/console/api/forms.js");
  const all = await schemas();
  let number = 0;
  const text = () => (valid ? `${MARKUP} ${number++}` : MARKUP); // names are unique
  const filled = (schema, name, depth) => {
    const inner = plain(schema, all);
    if (valid && name in valid) return valid[name];
    if (valid && name === "apiKeys") return [{ apiKeyName: text(), publicKey: valid.publicKeys.shift(), curveType: "API_KEY_CURVE_P256" }];
    if (inner.enum) return inner.enum[0];
    if (inner.type === "array") return depth > 6 ? [] : [filled(inner.items, "", depth + 1)];
    if (inner.type === "object" && inner.properties) {
      const required = new Set(inner.required ?? []);
      const members = Object.entries(inner.properties).filter(([member]) => !valid || required.has(member) || /Name$|^name$|^label$|^notes$/.test(member));
      return Object.fromEntries(members.map(([member, part]) => [member, depth > 6 ? undefined : filled(part, member, depth + 1)]));
    }
    if (inner.type === "boolean") return true;
    if (inner.type === "integer" || inner.type === "number") return 1;
    return text();
  };
  return (await operations()).map(({ name, parameters }) => ({ name, value: filled(parameters, "", 0) }));
}, MARKUP, valid);

/** Opens the form with these values typed into it, sends it, and waits for what becomes of it: "accepted" or "refused". */
async function sent(page, { name, value }) {
  await page.evaluate((key, text) => sessionStorage.setItem(key, text), `draft ${KEYSTEAD_USER_ID} #/actions/${name}`, JSON.stringify(value));
  await open(page, `#/actions/${name}`);
  await page.waitForFunction((name) => location.hash === `#/actions/${name}` && document.querySelector("form.form button.primary"), {}, name);
  await isText(page, `the form of ${name}`);
  await page.evaluate(() => {
    const form = document.querySelector("form.form");
    form.noValidate = true; // the browser's own checks are not what is tried
    form.requestSubmit();
  });
  const outcome = await page.waitForFunction(() => (location.hash.startsWith("#/activities/") ? "accepted" : document.querySelector("form.form .notice.bad") && "refused"));
  if ((await outcome.jsonValue()) === "accepted") await settled(page);
  await isText(page, `what became of ${name}`);
  await page.evaluate((key) => sessionStorage.removeItem(key), `draft ${KEYSTEAD_USER_ID} #/actions/${name}`);
  return outcome.jsonValue();
}

/** Nothing that was typed became markup. */
async function isText(page, where) {
  const found = await page.evaluate(() => [String(window.ran), document.querySelectorAll("img[onerror], img[src=x]").length]);
  assert.deepEqual(found, ["undefined", 0], where);
}

const accepted = [];

const cases = {
  async in_every_field_of_every_form(page) {
    await logIn(page);
    const operations = await operationsIn(page, null);
    assert.ok(operations.length > 60, String(operations.length));
    for (const operation of operations) await sent(page, operation);
  },

  async in_what_the_server_takes(page) {
    await logIn(page);
    const root = rootClient();
    const { wallets } = await root.getWallets();
    const { accounts } = await root.getWalletAccounts({ walletId: wallets[0].walletId });
    const { userTagId } = await root.createUserTag({ userTagName: `${MARKUP} tag`, userIds: [] });
    const valid = { ...VALID, walletId: wallets[0].walletId, signWith: accounts[0].address, address: accounts[0].address, userTagId,
      publicKeys: Array.from({ length: 30 }, () => generateP256KeyPair().publicKey) };
    for (const operation of await operationsIn(page, valid)) {
      if (NEVER_VALID.test(operation.name)) continue;
      if ((await sent(page, operation)) === "accepted") accepted.push(operation.name);
    }
    for (const name of ["create_wallet", "create_policy", "create_user_tag", "create_private_key_tag", "create_users", "create_sub_organization", "create_webhook_endpoint", "create_smart_contract_interface", "update_user", "sign_raw_payload"]) {
      assert.ok(accepted.includes(name), `${name} is not among the accepted: ${accepted}`);
    }
  },

  async in_every_screen_that_shows_it(page) {
    await logIn(page);
    await page.waitForFunction((markup) => document.querySelector(".account").textContent.includes(markup), {}, MARKUP); // the user's own name
    const found = await page.evaluate(async () => {
      const { query } = await import("/console/api/calls.js");
      const ids = async (name, member, id) => (await query(name))[member].map((each) => each[id] ?? each);
      const { collections } = await import("/console/api/collections.js");
      const { activities } = await query("list_activities", { paginationOptions: { limit: "100" } });
      return [
        ...activities.map(({ id }) => `activities/${id}`),
        ...(await ids("list_policies", "policies", "policyId")).map((id) => `policies/${id}`),
        ...(await ids("list_users", "users", "userId")).map((id) => `users/${id}`),
        ...(await ids("list_wallets", "wallets", "walletId")).map((id) => `wallets/${id}`),
        ...(await ids("list_private_keys", "privateKeys", "privateKeyId")).map((id) => `private-keys/${id}`),
        ...(await ids("list_suborgs", "organizationIds", "")).map((id) => `sub-organizations/${id}`),
        ...(await collections()).map(({ name }) => `records/${name}`),
      ];
    });
    const screens = ["activities", "activities/refused", "policies", "overview", "audit", "audit?question=rules", "users", "users/tags", "wallets", "private-keys", "private-keys/tags", "contracts",
      "sub-organizations", "organization", "actions/create_policy", "development/requests?show=refused", "development/messages", "development/webhooks", "development/server"];
    let showing = 0;
    for (const screen of [...screens, ...found]) {
      await open(page, `#/${screen}`);
      await settled(page);
      await page.$$eval("details", (all) => all.forEach((each) => (each.open = true)));
      await isText(page, screen);
      showing += await page.evaluate((markup) => Number(document.querySelector("main").innerText.includes(markup)), MARKUP);
    }
    assert.ok(showing > 30, `markup is shown on ${showing} screens only`);
  },
};

await run(cases);
