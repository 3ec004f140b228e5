// Policies: the list with its warnings, and the editor that the server checks as one types.
import assert from "node:assert/strict";
import { generateP256KeyPair } from "@turnkey/crypto";
import { clientOf, fill, inspect, logIn, open, press, rootClient, run, settled, shows } from "./pages.mjs";

const MARKUP = `<img src=x onerror="window.ran=1">`;

const DAY_MS = 86_400_000;

/** Moves the server's clock. */
const clock = (change) => fetch(`${process.env.KEYSTEAD_BASE_URL}/dev/v1/clock`, { method: "POST", headers: { "Content-Type": "application/json", "X-Keystead-Dev": "1" }, body: JSON.stringify(change) });

/** The value of an option by its words. */
const optionOf = (page, words) => page.$$eval("option", (options, words) => options.find((each) => each.textContent.trim() === words).value, words);

const cases = {
  async a_policy_is_written_with_completion_and_saved(page) {
    await logIn(page);
    await open(page, "#/policies");
    await press(page, "New policy");
    await fill(page, "Name", "Small transfers");
    await fill(page, "Condition", "eth.tx.valu");
    await page.waitForSelector(".offer:not([hidden]) li");
    await inspect(page);
    await page.focus(".editor textarea");
    await page.keyboard.press("End");
    await page.keyboard.type("e");
    await page.keyboard.type(" < 5.5");
    await shows(page, "Line 1, column");
    await page.waitForSelector("textarea[aria-invalid=true]");
    assert.ok(await page.evaluate(() => [...document.querySelectorAll("button")].find((each) => each.textContent === "Create policy").disabled));
    await inspect(page);
    for (let presses = 0; presses < 2; presses += 1) await page.keyboard.press("Backspace");
    await shows(page, "The server accepts this policy");
    await fill(page, "Consensus", "approvers.cou");
    await page.waitForSelector(".offer:not([hidden]) li");
    await page.keyboard.press("Enter");
    await page.keyboard.type(" >= 2");
    await shows(page, "The server accepts this policy");
    await press(page, "Try it");
    await shows(page, "It applies to 0 activities of");
    await press(page, "Create policy");
    await shows(page, "Completed");
    const { policies } = await rootClient().getPolicies();
    const made = policies.find(({ policyName }) => policyName === "Small transfers");
    assert.deepEqual([made.condition, made.consensus, made.effect], ["eth.tx.value < 5", "approvers.count() >= 2", "EFFECT_ALLOW"]);
  },

  async an_example_is_a_beginning(page) {
    await logIn(page);
    await open(page, "#/policies/new");
    await press(page, "Transfers to one address, up to an amount");
    await shows(page, "The server accepts this policy");
    await page.waitForFunction(() => document.querySelector(".editor textarea").value.includes("each.to =="));
    await shows(page, "Enter an address."); // it cannot be saved by mistake
    await page.reload(); // as what is typed, so what is still missing
    await shows(page, "Enter an address.");
    await fill(page, "To the address", "0x1234");
    await shows(page, "An address is 0x and 40 characters");
    await fill(page, "To the address", `0x${"ab".repeat(20)}`);
    await fill(page, "At most, in ETH", "0.25");
    await inspect(page);
    await page.waitForFunction((condition) => document.querySelector(".editor textarea").value === condition, {},
      "activity.kind == 'SIGN_TRANSACTION' && eth.tx.fee <= 20000000000000000 && eth.tx.movements.count() == 1 && eth.tx.movements.all(each, "
        + `each.kind == 'TRANSFER' && each.asset == 'NATIVE' && each.to == '0x${"ab".repeat(20)}' && each.amount <= 250000000000000000)`);
    await shows(page, "The server accepts this policy");
    await page.waitForFunction(() => ![...document.querySelectorAll("button")].find((each) => each.textContent === "Create policy").disabled);
  },

  async a_user_becomes_an_approver(page) {
    const { publicKey } = generateP256KeyPair();
    const { userIds } = await rootClient().createUsers({ users: [{ userName: "Approver", userTags: [], authenticators: [], oauthProviders: [], apiKeys: [{ apiKeyName: "key", publicKey, curveType: "API_KEY_CURVE_P256" }] }] });
    await logIn(page);
    await open(page, `#/users/${userIds[0]}`);
    await shows(page, "Not in the root quorum.");
    await press(page, "New policy that counts this user");
    await shows(page, "Enter a name.");
    await shows(page, "is the user Approver");
    await fill(page, "Name", "Approver signs");
    await shows(page, "The server accepts this policy");
    await press(page, "Create policy");
    await shows(page, "Completed");
    await open(page, `#/users/${userIds[0]}`);
    await shows(page, "In the policy Approver signs");
    await inspect(page);
    await press(page, "Add to the root quorum");
    await shows(page, "Each of Approver and Developer alone may do everything, whatever policies say.");
    await inspect(page);
    await press(page, "Save", "dialog button");
    await shows(page, "The root quorum was changed.");
    await shows(page, "In the root quorum: each member alone may do everything.");
  },

  async a_policy_is_tried_on_the_record(page) {
    await rootClient().createUserTag({ userTagName: "tried", userIds: [] });
    await logIn(page);
    await open(page, "#/policies/new");
    await fill(page, "Condition", "activity.kind == 'CREATE_USER_TAG'");
    await shows(page, "The server accepts this policy");
    await press(page, "Deny", "label");
    await settled(page);
    await press(page, "Try it");
    await shows(page, "It applies to 1 activity of");
    await shows(page, "and changes no decision"); // the root quorum decided
    await shows(page, "Create user tag 'tried'");
    await inspect(page);
    await page.reload();
    await settled(page);
    assert.equal(await page.$eval(".editor textarea", (node) => node.value), "activity.kind == 'CREATE_USER_TAG'");
  },

  async a_policy_is_tried_on_the_last_days(page) {
    const ages = [["of 12 days ago", 12 * DAY_MS], ["of 3 days ago", 3 * DAY_MS], ["of an hour ago", DAY_MS / 24]];
    for (const [name, ageMs] of ages) {
      await clock({ system: true, advanceMs: -ageMs });
      await rootClient().createPrivateKeyTag({ privateKeyTagName: name, privateKeyIds: [] });
    }
    await clock({ system: true });
    await logIn(page);
    await open(page, "#/policies/new");
    await fill(page, "Condition", "activity.kind == 'CREATE_PRIVATE_KEY_TAG'");
    await shows(page, "The server accepts this policy");
    for (const [reach, count] of [["Last 24 hours", 1], ["Since yesterday", 1], ["Last 7 days", 2], ["Newest 200", 3]]) {
      await page.select("select[aria-label='On how many activities']", await optionOf(page, reach));
      await press(page, "Try it");
      await shows(page, `It applies to ${count} ${count === 1 ? "activity" : "activities"} of`);
      const shown = await page.$$eval(".results a", (links) => links.map((link) => link.textContent));
      assert.deepEqual(shown.length, count, reach);
      for (const [name] of ages.slice(-count)) assert.ok(shown.some((text) => text.includes(name)), `${reach}: ${shown}`);
    }
    await inspect(page);
  },

  async a_policy_is_tried_among_the_others(page) {
    const key = generateP256KeyPair();
    const { userIds } = await rootClient().createUsers({ users: [{ userName: "Tagger", userTags: [], authenticators: [], oauthProviders: [], apiKeys: [{ apiKeyName: "key", publicKey: key.publicKey, curveType: "API_KEY_CURVE_P256" }] }] });
    const { policyId } = await rootClient().createPolicy({ policyName: "Tagger tags", effect: "EFFECT_ALLOW", condition: "activity.kind == 'CREATE_USER_TAG'", consensus: `approvers.any(user, user.id == '${userIds[0]}')`, notes: "" });
    await clientOf(key).createUserTag({ userTagName: "by Tagger", userIds: [] });
    await logIn(page);
    await open(page, `#/policies/${policyId}`);
    await press(page, "Deny", "label");
    await shows(page, "The server accepts this policy");
    await press(page, "Try it");
    await shows(page, "and changes 1 decision");
    await shows(page, "Create user tag 'by Tagger'");
    assert.deepEqual(await page.$eval(".change", (node) => [node.querySelector("s").textContent, node.querySelector(".badge").textContent]), ["Allowed", "Denied"]);
    await inspect(page);
  },

  async a_policy_is_changed(page) {
    await logIn(page);
    await open(page, "#/policies");
    await press(page, "Small transfers");
    await settled(page);
    await press(page, "Deny", "label");
    await press(page, "Save");
    await shows(page, "Completed");
    const { policies } = await rootClient().getPolicies();
    assert.equal(policies.find(({ policyName }) => policyName === "Small transfers").effect, "EFFECT_DENY");
  },

  async a_change_that_waits_is_shown_as_a_difference(page) {
    const root = rootClient();
    const key = generateP256KeyPair();
    const { userIds } = await root.createUsers({ users: [{ userName: "Editor", userTags: [], authenticators: [], oauthProviders: [], apiKeys: [{ apiKeyName: "key", publicKey: key.publicKey, curveType: "API_KEY_CURVE_P256" }] }] });
    const before = { condition: "eth.tx.value < 5", consensus: "approvers.count() >= 2", notes: "" };
    const { policyId } = await root.createPolicy({ policyName: "To be changed", effect: "EFFECT_ALLOW", ...before });
    const consensus = `approvers.any(user, user.id == '${userIds[0]}') && approvers.count() >= 2`;
    await root.createPolicy({ policyName: "Changes need two", effect: "EFFECT_ALLOW", condition: "activity.kind == 'UPDATE_POLICY'", consensus, notes: "" });
    const { activity } = await clientOf(key).updatePolicy({ policyId, policyCondition: "eth.tx.value < 500", policyEffect: "EFFECT_DENY" });
    await logIn(page);
    await open(page, `#/activities/${activity.id}`);
    await page.waitForSelector(".diff");
    const lines = (kind) => page.$$eval(`.diff .${kind}`, (all) => all.map((each) => each.textContent.trim()));
    assert.deepEqual(await lines("removed"), ["- effect: EFFECT_ALLOW", "- condition: eth.tx.value < 5"]);
    assert.deepEqual(await lines("added"), ["+ effect: EFFECT_DENY", "+ condition: eth.tx.value < 500"]);
    assert.ok(!(await page.$eval(".diff", (node) => node.textContent)).includes("consensus"));
    await inspect(page);
  },

  async warnings_are_told_in_the_list_and_while_one_writes(page) {
    await rootClient().createPolicy({ policyName: MARKUP, effect: "EFFECT_ALLOW", condition: "activity.kind == 'DELETE_USER'", notes: MARKUP, consensus: "" });
    await logIn(page);
    await open(page, "#/policies");
    await shows(page, "never applies");
    await shows(page, MARKUP);
    assert.equal(await page.evaluate(() => window.ran), undefined);
    await inspect(page);
    await open(page, "#/policies/new");
    await shows(page, "The server checks the policy while you write it.");
    await fill(page, "Name", "Everything");
    await shows(page, "allows every activity to every user");
  },
};

await run(cases);
