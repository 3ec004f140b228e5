// Policies: the list with its warnings, and the editor that the server checks as one types.
import assert from "node:assert/strict";
import { fill, inspect, logIn, open, press, rootClient, run, settled, shows } from "./pages.mjs";

const MARKUP = `<img src=x onerror="window.ran=1">`;

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
    await shows(page, "The server accepts it");
    await fill(page, "Consensus", "approvers.cou");
    await page.waitForSelector(".offer:not([hidden]) li");
    await page.keyboard.press("Enter");
    await page.keyboard.type(" >= 2");
    await shows(page, "The server accepts it");
    await press(page, "Try it");
    await shows(page, "It applies to 0 activities of");
    await press(page, "Create policy");
    await shows(page, "Completed");
    const { policies } = await rootClient().getPolicies();
    const made = policies.find(({ policyName }) => policyName === "Small transfers");
    assert.deepEqual([made.condition, made.consensus, made.effect], ["eth.tx.value < 5", "approvers.count() >= 2", "EFFECT_ALLOW"]);
  },

  async a_policy_is_tried_on_the_record(page) {
    await rootClient().createUserTag({ userTagName: "tried", userIds: [] });
    await logIn(page);
    await open(page, "#/policies/new");
    await fill(page, "Condition", "activity.kind == 'CREATE_USER_TAG'");
    await shows(page, "The server accepts it");
    await press(page, "Deny", "label");
    await settled(page);
    await press(page, "Try it");
    await shows(page, "It applies to 1 activity of");
    await shows(page, "Create user tag 'tried'");
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

  async warnings_are_told_in_the_list_and_while_one_writes(page) {
    await rootClient().createPolicy({ policyName: MARKUP, effect: "EFFECT_ALLOW", condition: "activity.kind == 'DELETE_USER'", notes: MARKUP, consensus: "" });
    await logIn(page);
    await open(page, "#/policies");
    await shows(page, "never applies");
    await shows(page, MARKUP);
    assert.equal(await page.evaluate(() => window.ran), undefined);
    await inspect(page);
    await open(page, "#/policies/new");
    await shows(page, "allows every activity to every user");
  },
};

await run(cases);
