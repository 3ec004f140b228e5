// Activities in the console: what waits, what it asks, why, and the votes of a person.
import assert from "node:assert/strict";
import { generateP256KeyPair } from "@turnkey/crypto";
import { clientOf, enter, fill, inspect, logIn, open, press, rootClient, run, settled, shows } from "./pages.mjs";

const { KEYSTEAD_USER_ID } = process.env;
const MARKUP = `<img src=x onerror="window.ran=1">`;

/** A user who may create tags once the root user approves. */
async function requester() {
  const root = rootClient();
  const { publicKey, privateKey } = generateP256KeyPair();
  const name = `Requester ${MARKUP}`;
  const { userIds } = await root.createUsers({
    users: [{ userName: name, apiKeys: [{ apiKeyName: MARKUP, publicKey, curveType: "API_KEY_CURVE_P256" }], authenticators: [], oauthProviders: [], userTags: [] }],
  });
  await root.createPolicy({
    policyName: `Tags need an approval ${MARKUP}`,
    effect: "EFFECT_ALLOW",
    condition: "activity.kind == 'CREATE_USER_TAG'",
    consensus: `approvers.any(user, user.id == '${userIds[0]}') && approvers.any(user, user.id == '${KEYSTEAD_USER_ID}')`,
    notes: MARKUP,
  });
  return clientOf({ publicKey, privateKey });
}

/** An activity that waits; its tag's name. */
async function waits(client, tagName) {
  const { activity } = await client.createUserTag({ userTagName: tagName, userIds: [] });
  assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
  return activity.id;
}

const statusOf = async (id) => (await rootClient().getActivity({ activityId: id })).activity.status;

let asking;

/** Opens an activity, and waits until the console has noted that it was shown: a moment after it is drawn. */
async function look(page, id, headline) {
  await open(page, `#/activities/${id}`);
  await shows(page, headline);
  await page.waitForFunction((id) => sessionStorage.getItem("seenActivities")?.includes(id), {}, id);
}

const cases = {
  async what_waits_comes_first_and_a_passkey_approves_it(page) {
    asking = await requester();
    const id = await waits(asking, "Treasury");
    await logIn(page);
    await open(page, `#/users/${KEYSTEAD_USER_ID}`);
    await press(page, "Add a passkey");
    await shows(page, "The passkey was added.");
    await open(page, "#/activities");
    await shows(page, "Waits for you");
    await inspect(page);
    await press(page, "Create user tag 'Treasury'");
    await shows(page, "Waits: more people must approve.");
    await shows(page, "Still missing");
    await page.waitForSelector(".part .badge"); // the parts are asked of the server once the policy is open
    const missing = await page.$$eval(".part", (parts) => parts.filter((part) => part.textContent.includes("missing")).map((part) => part.querySelector("code").textContent));
    assert.deepEqual(missing, [`approvers.any(user, user.id == '${KEYSTEAD_USER_ID}')`]);
    await shows(page, "approvers is Requester");
    await shows(page, "is the user Developer");
    await shows(page, "the approval of Developer, as “Tags need an approval");
    await shows(page, "or 1 of the root quorum: Developer");
    await inspect(page);
    await press(page, "Approve with a passkey");
    await shows(page, "Approved: now completed.");
    assert.equal(await statusOf(id), "ACTIVITY_STATUS_COMPLETED");
    await shows(page, "with the passkey");
    await inspect(page);
  },

  async the_key_of_the_browser_rejects(page) {
    const id = await waits(asking, "Refused");
    await logIn(page);
    await open(page, `#/activities/${id}`);
    await press(page, "Reject");
    await shows(page, "One rejection is final and cannot be undone");
    await page.keyboard.press("Escape");
    assert.equal(await statusOf(id), "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    await press(page, "Reject");
    await press(page, "Reject", "dialog button");
    await shows(page, "Rejected: now rejected.");
    assert.equal(await statusOf(id), "ACTIVITY_STATUS_REJECTED");
  },

  async activities_appear_while_one_looks(page) {
    await logIn(page);
    await settled(page);
    await waits(asking, "Just now");
    await shows(page, "Create user tag 'Just now'");
  },

  async two_that_differ_in_their_time_only_are_told(page) {
    const [first] = [await waits(asking, "Twice"), await waits(asking, "Twice")];
    await logIn(page);
    await open(page, `#/activities/${first}`);
    await shows(page, "1 other activity that waits asks for exactly the same");
    await open(page, "#/activities");
    await shows(page, "asked 2 times");
  },

  async several_are_approved_together_after_each_was_shown(page) {
    const ids = [await waits(asking, "First of two"), await waits(asking, "Second of two")];
    await logIn(page);
    await shows(page, "Those that you have opened can be selected here and approved together.");
    for (const [index, name] of ["First of two", "Second of two"].entries()) {
      await look(page, ids[index], `Create user tag '${name}'`);
    }
    await open(page, "#/activities");
    for (const name of ["First", "Second"]) await (await page.waitForSelector(`input[aria-label*="${name} of two"]`)).click();
    await inspect(page);
    await press(page, "Approve 2 with this browser’s key");
    await shows(page, "Approve 2 activities?");
    await inspect(page);
    await press(page, "Approve 2", "dialog button");
    await shows(page, "Approved 2 activities.");
    for (const id of ids) assert.equal(await statusOf(id), "ACTIVITY_STATUS_COMPLETED");
  },

  async several_are_approved_with_a_passkey_that_stamps_each(page) {
    const ids = [await waits(asking, "One of three"), await waits(asking, "Two of three"), await waits(asking, "Three of three")];
    await logIn(page);
    await open(page, `#/users/${KEYSTEAD_USER_ID}`);
    await press(page, "Add a passkey");
    await shows(page, "The passkey was added.");
    for (const [index, name] of ["One of three", "Two of three", "Three of three"].entries()) {
      await look(page, ids[index], `Create user tag '${name}'`);
    }
    await open(page, "#/activities");
    for (const name of ["One", "Two", "Three"]) await (await page.waitForSelector(`input[aria-label*="${name} of three"]`)).click();
    await shows(page, "the browser asks for your passkey 3 times");
    await inspect(page);
    // The second ceremony is refused once, as when the person closes the dialogue.
    await page.evaluate(() => {
      const get = navigator.credentials.get.bind(navigator.credentials);
      window.ceremonies = 0;
      navigator.credentials.get = async (options) => {
        window.ceremonies += 1;
        if (window.ceremonies === 2) throw new DOMException("closed", "NotAllowedError");
        return get(options);
      };
    });
    await press(page, "Approve 3 with a passkey");
    await shows(page, "Approved 1 of 3, then: The passkey was not used");
    await press(page, "Approve 2 with a passkey");
    await shows(page, "Approved 2 activities.");
    assert.equal(await page.evaluate(() => window.ceremonies), 4);
    for (const id of ids) {
      const { activity } = await rootClient().getActivity({ activityId: id });
      assert.deepEqual([activity.status, activity.votes.at(-1).scheme], ["ACTIVITY_STATUS_COMPLETED", "SIGNATURE_SCHEME_TK_WEBAUTHN"]);
    }
  },

  async proofs_that_an_mfa_policy_asks_for_are_named_and_given(page) {
    await logIn(page);
    await open(page, `#/users/${KEYSTEAD_USER_ID}`);
    await press(page, "Add a passkey");
    await shows(page, "The passkey was added.");
    await rootClient().createMfaPolicy({ userId: KEYSTEAD_USER_ID, mfaPolicyName: "Names by passkey", order: 0, condition: "activity.kind == 'UPDATE_USER_TAG'",
      requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" }] }] });
    const { userTags } = await rootClient().listUserTags({});
    const { activity } = await rootClient().updateUserTag({ userTagId: userTags[0].tagId, newUserTagName: "Renamed", addUserIds: [], removeUserIds: [] });
    assert.equal(activity.status, "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED");
    await open(page, `#/activities/${activity.id}`);
    await shows(page, "Developer approves with each of: passkey");
    await inspect(page);
    await press(page, "Approve with a passkey");
    await shows(page, "Approved: now completed.");
  },

  async a_request_that_was_refused_is_explained(page) {
    const error = await asking.createWallet({ walletName: "Refused", accounts: [] }).catch((refused) => refused);
    const id = /"activityId":"([^"]+)"/.exec(error.message)[1];
    await logIn(page);
    await (await page.waitForSelector("input[type=search]")).type(id);
    await press(page, "Open the activity, or the refused request, of this id");
    await shows(page, "Create wallet: refused");
    await shows(page, "Denied: nothing allows it.");
    await shows(page, "does not apply: its condition is false");
    await shows(page, "Parameters");
    await shows(page, "Requester");
    await inspect(page);
    await open(page, "#/activities");
    await press(page, "Refused requests");
    await page.waitForSelector("td.lead");
    await shows(page, "You don't have sufficient permissions");
    await inspect(page);
    await press(page, "Create wallet", "td button");
    await shows(page, "HTTP 403");
    await inspect(page);
    await press(page, "Outcome of each policy");
    await shows(page, "Denied: nothing allows it.");
    await open(page, `#/activities/${KEYSTEAD_USER_ID}`);
    await shows(page, "There is no such activity");
  },

  async who_was_refused_and_why_is_found_by_person_and_words(page) {
    const created = async (walletName) => asking.createWallet({ walletName, accounts: [] }).catch(() => undefined);
    await created("One");
    await asking.getWallet({ walletId: KEYSTEAD_USER_ID }).catch(() => undefined);
    await logIn(page);
    await open(page, `#/activities/${KEYSTEAD_USER_ID}`); // the console asks for what does not exist
    await shows(page, "There is no such activity");
    await open(page, "#/activities/refused");
    await shows(page, "Get wallet");
    const shown = () => page.$$eval("tbody tr", (rows) => rows.map((row) => row.innerText));
    assert.ok(!(await shown()).some((row) => row.includes("Developer"))); // its own requests are not listed
    await fill(page, "Words", "get wallet");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    assert.match((await shown())[0], /^Get wallet\s+Requester/);
    await inspect(page);
    await page.select("#refused-who", KEYSTEAD_USER_ID);
    await shows(page, "Nothing found");
    await inspect(page);
    await page.reload();
    await settled(page);
    await shows(page, "Nothing found"); // the filters are in the address
    await page.select("#refused-who", "");
    const day = await page.evaluate(() => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10));
    await page.$eval("#refused-from", (field, day) => {
      field.value = day;
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }, day);
    await shows(page, "Nothing found");
  },

  async what_people_typed_is_text(page) {
    const id = await waits(asking, MARKUP);
    await logIn(page);
    for (const address of ["#/activities", `#/activities/${id}`, "#/users"]) {
      await open(page, address);
      await shows(page, MARKUP);
      assert.equal(await page.evaluate(() => window.ran), undefined);
      assert.equal(await page.$$eval("img[onerror]", (found) => found.length), 0);
    }
    await inspect(page);
  },

  async filters_and_the_search_are_kept_over_a_reload(page) {
    await logIn(page);
    await settled(page);
    await page.select("select[aria-label=Status]", "ACTIVITY_STATUS_REJECTED");
    await shows(page, "Create user tag 'Refused'");
    await page.waitForFunction(() => !document.body.innerText.includes("'Treasury'"));
    await page.type("input[type=search]", "refused");
    await page.reload();
    await settled(page);
    assert.equal(await page.$eval("input[type=search]", (node) => node.value), "refused");
    await shows(page, "Create user tag 'Refused'");
  },

  async a_keyboard_alone_opens_an_activity_and_approves(page) {
    const id = await waits(asking, "By keyboard");
    await logIn(page);
    await shows(page, "Create user tag 'By keyboard'");
    await enter(page, "Skip to the content");
    await enter(page, "Create user tag 'By keyboard'");
    await shows(page, "What it asks");
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1"); // a screen reader says where one is
    await page.waitForFunction(() => document.title.includes("Create user tag 'By keyboard'"));
    await enter(page, "Approve with this browser’s key"); // which ends with Escape: nothing was approved
    assert.equal(await statusOf(id), "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    await page.waitForFunction(() => !document.querySelector("dialog"));
    await page.keyboard.press("Enter"); // the focus is where it was
    await shows(page, "Once the last one is there, this is done at once and cannot be undone.");
    await shows(page, "Create user tag 'By keyboard'");
    await inspect(page);
    await page.keyboard.press("Enter"); // the focus is on the answer
    await shows(page, "Approved: now completed.");
    assert.equal(await statusOf(id), "ACTIVITY_STATUS_COMPLETED");
  },

  async keys_go_through_what_waits(page) {
    await nothingWaits();
    const { authenticators } = await rootClient().getAuthenticators({ userId: KEYSTEAD_USER_ID });
    await rootClient().deleteAuthenticators({ userId: KEYSTEAD_USER_ID, authenticatorIds: authenticators.map(({ authenticatorId }) => authenticatorId) });
    for (const name of ["Oldest", "Middle", "Newest"]) await waits(asking, `Key ${name}`);
    await logIn(page);
    await shows(page, "Key Newest");
    await page.waitForFunction(() => /^\(3\) /.test(document.title)); // the badge in the tab
    for (const name of ["Newest", "Middle"]) {
      await page.keyboard.press("j");
      assert.match(await page.evaluate(() => document.activeElement.textContent), new RegExp(name));
    }
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await headed(page, "Create user tag 'Key Newest'");
    await page.keyboard.press("j");
    await headed(page, "Create user tag 'Key Middle'");
    await page.keyboard.press("a");
    await shows(page, "Approve this?");
    await page.keyboard.press("a"); // a dialogue takes no shortcuts
    await page.keyboard.press("Enter");
    await headed(page, "Create user tag 'Key Oldest'"); // the next one that waits, with the focus on its heading
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
    await page.keyboard.press("r");
    await shows(page, "Reject this?");
    await page.keyboard.press("Enter");
    await headed(page, "Create user tag 'Key Newest'");
    await page.waitForFunction(() => /^\(1\) /.test(document.title));
    await page.keyboard.press("a");
    await shows(page, "Approve this?");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => !/^\(/.test(document.title));
    await open(page, "#/activities");
    await page.keyboard.press("/");
    await page.keyboard.type("a?r");
    assert.equal(await page.$eval("input[type=search]", (node) => node.value), "a?r"); // letters that are typed are text
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("?");
    await shows(page, "Use keys without Ctrl");
    await inspect(page);
    await press(page, "Use keys without Ctrl", "label");
    await press(page, "Close", "dialog button");
    await page.keyboard.press("?");
    await new Promise((later) => setTimeout(later, 200));
    assert.equal(await page.$("dialog[open]"), null);
  },

  async the_palette_finds_screens_records_and_actions(page) {
    await logIn(page);
    await settled(page);
    for (const [typed, title, hash] of [["webhook endp", "Webhook endpoints", "#/records/webhook_endpoints"], ["requester", "Requester", "#/users/"], ["create wallet", "Create wallet", "#/actions/create_wallet"], ["invite", "Invite somebody", "#/users/new"]]) {
      await page.keyboard.down("Control");
      await page.keyboard.press("k");
      await page.keyboard.up("Control");
      await page.waitForSelector(".palette[open] input:focus");
      await page.keyboard.type(typed);
      await page.waitForFunction((title) => document.querySelector(".palette [aria-selected=true]")?.textContent.startsWith(title), {}, title);
      if (typed === "requester") await inspect(page);
      await page.keyboard.press("Enter");
      await page.waitForFunction((hash) => location.hash.startsWith(hash), {}, hash);
    }
  },

  async the_browser_tells_what_begins_to_wait(page) {
    await page.evaluateOnNewDocument(() => {
      window.told = [];
      window.Notification = class {
        static permission = "default";
        static async requestPermission() {
          return (this.permission = "granted");
        }
        constructor(title, { body }) {
          window.told.push([title, body]);
        }
        close() {}
      };
    });
    await page.reload();
    await logIn(page);
    await settled(page);
    await press(page, "Notify me");
    await page.evaluate(() => (document.hasFocus = () => false));
    await waits(asking, "Notified");
    await page.waitForFunction(() => window.told.length);
    assert.deepEqual(await page.evaluate(() => window.told), [["Waits for your approval", "Create user tag 'Notified'"]]);
  },

  async two_of_three_in_one_dialogue(page) {
    const root = rootClient();
    for (const userName of ["Ann", "Bo"]) await root.createUsers({ users: [{ userName, apiKeys: [{ apiKeyName: "Key", publicKey: generateP256KeyPair().publicKey, curveType: "API_KEY_CURVE_P256" }], authenticators: [], oauthProviders: [], userTags: [] }] });
    await logIn(page);
    await open(page, "#/organization");
    await press(page, "Change who approves");
    await shows(page, "Developer alone may do everything");
    assert.ok(!(await page.$eval("dialog", (node) => node.innerText)).includes("Authentication proxy"));
    await press(page, "Ann", "dialog label");
    await press(page, "Bo", "dialog label");
    await fill(page, "How many of them must approve", "2");
    await shows(page, "Any 2 of Ann, Bo and Developer together may do everything, whatever policies say. None of them may alone.");
    await inspect(page);
    await press(page, "Save", "dialog button");
    await shows(page, "The root quorum was changed.");
    await shows(page, "Any 2 of");
    const { walletId } = (await root.createWallet({ walletName: "Waits for two", accounts: [] })).activity.result;
    assert.equal(walletId, undefined);
    await open(page, "#/activities");
    await press(page, "Create wallet 'Waits for two'", ".row-link");
    await shows(page, "1 of the root quorum: Ann, Bo");
    await inspect(page);
  },
};

/** Rejects what waits from before. */
async function nothingWaits() {
  const { activities } = await rootClient().getActivities({ filterByStatus: ["ACTIVITY_STATUS_CONSENSUS_NEEDED"] });
  for (const { fingerprint } of activities) await rootClient().rejectActivity({ fingerprint });
}

/** Waits for an activity that can be voted on. */
async function headed(page, title) {
  await page.waitForFunction((title) => document.querySelector("h1")?.textContent === title && document.querySelector("[aria-keyshortcuts=r]:not(:disabled)"), {}, title);
}

await run(cases);
