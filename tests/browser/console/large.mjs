// A hundred thousand wallets and activities, ten thousand users: some rows at a time are drawn, pages follow the cursor.
import assert from "node:assert/strict";
import { inspect, logIn, open, press, run, settled, shows } from "./pages.mjs";

const WALLETS = 100_000;
const USERS = 10_000;
const ACTIVITIES = 100_000;
const time = { seconds: "1764000000", nanos: "0" };
const id = (number) => `0190f1b6-0000-7000-8000-${String(number).padStart(12, "0")}`;

const wallet = (number) => ({ walletId: id(number), walletName: `Wallet ${number}`, createdAt: time, updatedAt: time, exported: false, imported: false });
const user = (number) => ({ userId: id(number), userName: `Person ${number}`, authenticators: [], apiKeys: [], oauthProviders: [], walletAuthenticators: [], mfaPolicies: [], userTags: [], createdAt: time, updatedAt: time });
const account = (number) => ({ walletAccountId: id(number), organizationId: id(0), walletId: id(number), curve: "CURVE_SECP256K1", pathFormat: "PATH_FORMAT_BIP32", path: "m/44'/60'/0'/0/0", addressFormat: "ADDRESS_FORMAT_ETHEREUM", address: `0x${String(number).padStart(40, "0")}`, createdAt: time, updatedAt: time });
const activity = (number) => ({
  id: id(number), organizationId: id(0), status: "ACTIVITY_STATUS_COMPLETED", type: "ACTIVITY_TYPE_CREATE_WALLET", fingerprint: "sha256:00",
  intent: { createWalletIntent: { walletName: `Wallet ${number}`, accounts: [] } }, result: {}, votes: [], canApprove: false, canReject: false, createdAt: time, updatedAt: time,
});

/** A page of activities as the server answers it: newest first, after the cursor. */
function page({ filterByStatus, paginationOptions }) {
  if (filterByStatus) return [];
  const newest = paginationOptions.after ? Number(paginationOptions.after.slice(-12)) - 1 : ACTIVITIES;
  return Array.from({ length: Math.min(Number(paginationOptions.limit), newest) }, (_, index) => activity(newest - index));
}

/** Answers the two lists in the server's place. `asked`: the cursors of the pages. */
async function answerLists(target, asked) {
  await target.setRequestInterception(true);
  target.on("request", (request) => {
    const name = request.url().split("/").at(-1);
    const answer = (content) => request.respond({ contentType: "application/json", body: JSON.stringify(content) });
    if (name === "list_wallets") return answer({ wallets: Array.from({ length: WALLETS }, (_, number) => wallet(number)) });
    if (name === "list_users") return answer({ users: Array.from({ length: USERS }, (_, number) => user(number)) });
    if (name === "list_wallet_accounts") {
      const { walletId, paginationOptions } = JSON.parse(request.postData());
      return answer({ accounts: walletId ? [account(Number(walletId.slice(-12)))] : Array.from({ length: Number(paginationOptions.limit) }, (_, number) => account(number)) });
    }
    if (name === "describe_activities") return answer({ activityDescriptions: [] });
    if (name !== "list_activities") return request.continue();
    const body = JSON.parse(request.postData());
    if (!body.filterByStatus) asked.push(body.paginationOptions.after);
    return answer({ activities: page(body) });
  });
}

const rows = (target) => target.$$eval("tbody tr", (found) => found.length);

const cases = {
  async very_many_wallets_are_drawn_a_hundred_at_a_time(target) {
    await answerLists(target, []);
    await logIn(target);
    await open(target, "#/wallets");
    await shows(target, "100,000");
    assert.equal(await rows(target), 100);
    await target.type("input[type=search]", "wallet 99999");
    await shows(target, "Wallet 99999");
    assert.equal(await rows(target), 1);
  },

  async one_of_very_many_people_is_found(target) {
    await answerLists(target, []);
    await logIn(target);
    await open(target, "#/users");
    await shows(target, "10,000");
    assert.equal(await rows(target), 100);
    await open(target, "#/organization");
    await press(target, "Change who approves");
    await shows(target, "more: type a part of the name.");
    assert.ok((await target.$$("dialog input[type=checkbox]")).length <= 51);
    await target.type("dialog input[type=search]", "person 9876");
    await target.waitForFunction(() => document.querySelectorAll("dialog .choices input:not(:checked)").length === 1);
    await inspect(target);
    await target.keyboard.press("Escape");
    await open(target, "#/audit");
    await target.type("#audit-user", "Person 9876");
    await target.waitForFunction((id) => location.hash.includes(id), {}, id(9876));
    await inspect(target);
  },

  async one_of_very_many_accounts_is_found_to_sign_with(target) {
    await answerLists(target, []);
    await logIn(target);
    await open(target, "#/sign");
    await shows(target, "There are more: type a part of the name or the whole address.");
    assert.equal((await target.$$(".option")).length, 8);
    await target.type("input[type=search]", "wallet 77777");
    await press(target, "Wallet 77777", ".option b");
    await shows(target, "Change");
    await press(target, "Change");
    await target.type("input[type=search]", `0x${"a".repeat(40)}`);
    await shows(target, "An address of this organization");
    await inspect(target);
  },

  async the_palette_finds_one_of_very_many_records(target) {
    await answerLists(target, []);
    await logIn(target);
    await settled(target);
    await target.click(".find");
    await target.type(".palette input", "wallet 54321");
    await target.waitForFunction(() => document.querySelector(".palette [aria-selected=true]")?.textContent.startsWith("Wallet 54321"));
    assert.ok((await target.$$(".palette [role=option]")).length <= 40);
  },

  async older_activities_follow_the_cursor(target) {
    const asked = [];
    await answerLists(target, asked);
    await logIn(target);
    await settled(target);
    await shows(target, "Wallet 100000");
    assert.equal(await rows(target), 50);
    await press(target, "Show older activities");
    await shows(target, "Wallet 99901");
    assert.ok(asked.includes(id(ACTIVITIES - 49)), String(asked));
    assert.equal(await rows(target), 100);
  },

  async an_answer_that_comes_after_the_filter_changed_is_not_shown(target) {
    const polls = [];
    let filtered = 0;
    await target.setRequestInterception(true);
    target.on("request", (request) => {
      if (!request.url().endsWith("list_activities")) return request.continue();
      const body = JSON.parse(request.postData());
      const answer = () => request.respond({ contentType: "application/json", body: JSON.stringify({ activities: body.filterByStatus ? [] : page(body) }) });
      if (body.filterByStatus?.length === 1) filtered += 1;
      if (body.filterByStatus || !polls.length) answer();
      if (!body.filterByStatus) polls.push(answer);
    });
    await logIn(target);
    await shows(target, "Wallet 100000");
    while (polls.length < 2) await target.waitForRequest((request) => request.url().endsWith("list_activities"));
    await target.select("select[aria-label=Status]", "ACTIVITY_STATUS_FAILED");
    await shows(target, "There is no activity of this kind yet.");
    await target.evaluate(() => new MutationObserver(() => (window.wasShown ||= document.body.innerText.includes("Wallet 100000"))).observe(document.body, { childList: true, subtree: true }));
    polls.slice(1).forEach((answer) => answer());
    for (const before = filtered; filtered === before;) await target.waitForResponse((response) => response.url().endsWith("list_activities"));
    assert.equal(await target.evaluate(() => window.wasShown), undefined);
  },
};

await run(cases);
