// Ten thousand wallets and a hundred thousand activities: some rows at a time are drawn, pages follow the cursor.
import assert from "node:assert/strict";
import { logIn, open, press, run, settled, shows } from "./pages.mjs";

const WALLETS = 10_000;
const ACTIVITIES = 100_000;
const time = { seconds: "1764000000", nanos: "0" };
const id = (number) => `0190f1b6-0000-7000-8000-${String(number).padStart(12, "0")}`;

const wallet = (number) => ({ walletId: id(number), walletName: `Wallet ${number}`, createdAt: time, updatedAt: time, exported: false, imported: false });
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
    if (name === "describe_activities") return answer({ activityDescriptions: [] });
    if (name !== "list_activities") return request.continue();
    const body = JSON.parse(request.postData());
    if (!body.filterByStatus) asked.push(body.paginationOptions.after);
    return answer({ activities: page(body) });
  });
}

const rows = (target) => target.$$eval("tbody tr", (found) => found.length);

const cases = {
  async ten_thousand_wallets_are_drawn_a_hundred_at_a_time(target) {
    await answerLists(target, []);
    await logIn(target);
    await open(target, "#/wallets");
    await shows(target, "10,000");
    assert.equal(await rows(target), 100);
    await target.type("input[type=search]", "wallet 9999");
    await shows(target, "Wallet 9999");
    assert.equal(await rows(target), 1);
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
