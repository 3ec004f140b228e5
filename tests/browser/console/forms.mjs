// The forms that are made from the operation catalogue.
import assert from "node:assert/strict";
import { enter, fill, inspect, logIn, open, press, rootClient, run, settled, shows } from "./pages.mjs";

const cases = {
  async a_form_of_the_catalogue_creates_changes_and_deletes(page) {
    await logIn(page);
    await open(page, "#/actions/create_wallet");
    await fill(page, "Wallet name", "Made by a form");
    await press(page, "Solana");
    await inspect(page);
    await press(page, "Create wallet", "button");
    await shows(page, "Result");
    await open(page, "#/wallets");
    await press(page, "Made by a form");
    await shows(page, "m/44'/501'/0'/0'");
    await open(page, "#/actions/update_wallet");
    await page.select("select", (await rootClient().getWallets()).wallets.find(({ walletName }) => walletName === "Made by a form").walletId);
    await page.$eval("details", (node) => (node.open = true)).catch(() => undefined); // few fields are not folded
    await fill(page, "Wallet name", "Renamed");
    await press(page, "Update wallet", "button");
    await shows(page, "Completed");
    await open(page, "#/wallets");
    await press(page, "Renamed");
    await press(page, "Delete");
    await settled(page);
    await press(page, "Delete wallets", "button");
    await shows(page, "has not been exported");
    await page.select("select", "true");
    await press(page, "Delete wallets", "button");
    await shows(page, "Completed");
  },

  async a_keyboard_alone_fills_a_form_and_tries_a_policy(page) {
    await logIn(page);
    await enter(page, "Wallets");
    await settled(page);
    await enter(page, "New wallet");
    await settled(page);
    await enter(page, "Name", "Typed by keyboard");
    await enter(page, "Create the wallet");
    await shows(page, "The wallet is ready.");
    await enter(page, "Policies");
    await settled(page);
    await enter(page, "New policy");
    await settled(page);
    await enter(page, "Name", "By keyboard");
    await enter(page, "Condition", "activity.kind == 'CREATE_WALLET'");
    await shows(page, "The server accepts this policy");
    await enter(page, "Try it");
    await shows(page, "It applies to");
    await enter(page, "Create policy");
    await shows(page, "Completed");
    await enter(page, "Dark");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await enter(page, "Log out");
    await shows(page, "Log in to Keystead");
  },

  async an_approver_is_added_with_a_passkey_and_a_key_pair(page) {
    const violations = [];
    await page.exposeFunction("violated", (directive) => violations.push(directive));
    await logIn(page);
    await page.evaluate(() => addEventListener("securitypolicyviolation", (event) => window.violated(event.effectiveDirective)));
    await open(page, "#/actions/create_users");
    await fill(page, "User name", "Approver");
    for (const [legend, name, make, made] of [
      ["API keys", "API key name", "Create a key pair", null],
      ["Passkeys", "Name of the passkey", "Create a passkey on this device", "The passkey was created."],
    ]) {
      const list = await page.waitForFunction((legend) => [...document.querySelectorAll("fieldset")].find((each) => each.firstElementChild.textContent === legend), {}, legend);
      await (await list.asElement().$(":scope > div:last-child button")).click();
      await fill(page, name, legend);
      await press(page, make);
      if (made) await shows(page, made);
    }
    await page.waitForFunction(() => [...document.querySelectorAll("input")].some((each) => /^0[23][0-9a-f]{64}$/.test(each.value)));
    await inspect(page);
    await press(page, "Create users", "button");
    await shows(page, "Completed");
    const made = (await rootClient().getUsers()).users.find(({ userName }) => userName === "Approver");
    assert.deepEqual([made.apiKeys.length, made.authenticators.length], [1, 1]);
    assert.deepEqual(violations, []);
  },

  async every_operation_has_a_form(page) {
    await logIn(page);
    await open(page, "#/actions");
    const addresses = await page.$$eval(".subjects a", (links) => links.map((link) => link.getAttribute("href")));
    assert.ok(addresses.length > 60, String(addresses.length));
    for (const address of addresses) {
      await open(page, address);
      await page.waitForSelector("form.form button.primary");
      const name = address.split("/").at(-1);
      if (["create_users", "create_policies", "create_sub_organization", "sign_transaction"].includes(name)) await inspect(page);
    }
  },

  async what_is_typed_is_kept_over_a_reload(page) {
    await logIn(page);
    await open(page, "#/actions/create_wallet");
    await fill(page, "Wallet name", "Half typed");
    await page.reload();
    await settled(page);
    assert.equal(await page.$eval("form input", (node) => node.value), "Half typed");
    await shows(page, "Your earlier input was restored.");
    await inspect(page);
    await press(page, "Start over");
    await page.waitForFunction(() => document.querySelector("form input").value === "");
  },

  async a_refusal_is_shown_in_the_form_and_nothing_typed_is_lost(page) {
    await logIn(page);
    await open(page, "#/actions/create_wallet");
    await fill(page, "Wallet name", "Development");
    await press(page, "Create wallet", "button");
    await shows(page, "must be unique");
    assert.equal(await page.$eval("form input", (node) => node.value), "Development");
  },
};

await run(cases);
