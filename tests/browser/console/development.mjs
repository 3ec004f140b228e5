// The development screen, an approval from nothing in a few clicks, and the pictures of what happened.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { fill, inspect, logIn, open, press, rootClient, run, settled, shows } from "./pages.mjs";

const { KEYSTEAD_BASE_URL, KEYSTEAD_USER_ID } = process.env;
const MARKUP = `<img src=x onerror="window.ran=1">`;

const clock = async () => (await fetch(`${KEYSTEAD_BASE_URL}/dev/v1/clock`)).json();

const cases = {
  async a_payment_that_waits_is_approved_with_a_passkey(page) {
    await logIn(page);
    await open(page, `#/users/${KEYSTEAD_USER_ID}`);
    await press(page, "Add a passkey");
    await shows(page, "The passkey was added.");
    await open(page, "#/activities");
    await open(page, "#/development/server");
    await inspect(page);
    await press(page, "Create an activity that waits");
    await shows(page, "0.05 ETH");
    await shows(page, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
    await shows(page, "a local chain (chain 31337)");
    await inspect(page);
    await press(page, "Approve with a passkey");
    await shows(page, "Approved: now completed.");
    await shows(page, "Signed transaction");
  },

  async requests_come_in_with_their_reason(page) {
    await logIn(page);
    await open(page, "#/development");
    await rootClient().getWallet({ walletId: "0190f1b6-0000-7000-8000-000000000001" }).catch(() => undefined);
    await fetch(`${KEYSTEAD_BASE_URL}/public/v1/query/whoami`, { method: "POST", body: JSON.stringify({ organizationId: MARKUP }) });
    await shows(page, "without a stamp");
    await press(page, "Hide this browser's", "label");
    await shows(page, "unable to find wallet");
    await press(page, "Get wallet");
    await shows(page, "SIGNATURE_SCHEME_TK_API_P256");
    await shows(page, "compare both ids"); // what to do
    await rootClient().getWallets();
    await press(page, "List wallets");
    await shows(page, "of published clients");
    await press(page, "Refused ones only", "label");
    await page.waitForFunction(() => ![...document.querySelectorAll("tbody button")].some((each) => each.textContent === "List wallets"));
    await press(page, "Whoami");
    await shows(page, "Stamp the request");
    await inspect(page);
    assert.equal(await page.evaluate(() => window.ran), undefined);
  },

  async messages_are_kept(page) {
    await rootClient().updateUserEmail({ userId: KEYSTEAD_USER_ID, userEmail: "somebody@example.org" });
    await rootClient().initOtp({ contact: "somebody@example.org", otpType: "OTP_TYPE_EMAIL", appName: MARKUP, otpLength: 6, alphanumeric: false });
    await logIn(page);
    await open(page, "#/development/messages");
    await shows(page, "somebody@example.org");
    await press(page, "Text");
    await inspect(page);
    assert.equal(await page.evaluate(() => window.ran), undefined);
  },

  async webhooks_that_were_sent_are_listed(page) {
    const receiver = createServer((_, response) => response.writeHead(418).end());
    await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    receiver.unref(); // whatever fails, it does not hold the process
    const { port } = receiver.address();
    await logIn(page);
    await open(page, "#/development/webhooks");
    await shows(page, "No webhooks yet");
    await inspect(page);
    await open(page, "#/actions/create_webhook_endpoint");
    await fill(page, "URL", `http://127.0.0.1:${port}/hook`);
    await fill(page, "Name", MARKUP);
    await press(page, "Add subscription");
    await press(page, "Every activity");
    await press(page, "Create webhook endpoint", "button");
    await shows(page, "Completed");
    await rootClient().createUserTag({ userTagName: MARKUP, userIds: [] });
    await open(page, "#/development/webhooks");
    await press(page, `http://127.0.0.1:${port}/hook`);
    await shows(page, "it answered 418");
    await shows(page, "CREATE_USER_TAG");
    await inspect(page);
    assert.equal(await page.evaluate(() => window.ran), undefined);
    receiver.closeAllConnections();
  },

  async the_clock_moves_and_snapshots_go_back(page) {
    await logIn(page);
    await open(page, "#/development/server");
    await press(page, "+ 1 day");
    await shows(page, "The clock is 1 day further.");
    const { nowMs, systemMs } = await clock();
    assert.equal(Math.round((nowMs - systemMs) / 86_400_000), 1);
    await press(page, "Freeze");
    await shows(page, "Frozen");
    await press(page, "Back to the machine's time");
    await shows(page, "The clock shows the machine's time again.");
    await page.type("#snapshot", MARKUP);
    await press(page, "Take snapshot");
    await shows(page, "The snapshot was taken.");
    await rootClient().createUserTag({ userTagName: "after the snapshot", userIds: [] });
    await inspect(page);
    await page.evaluate((name) => [...document.querySelectorAll("li")].find((each) => each.textContent.includes(name)).querySelector("button").click(), MARKUP);
    await shows(page, "The snapshot was restored.");
    assert.deepEqual((await rootClient().listUserTags({})).userTags.filter(({ tagName }) => tagName === "after the snapshot"), []);
  },

  async what_happened_is_drawn_with_its_numbers(page) {
    await logIn(page);
    for (const walletName of ["Drawn one", "Drawn two"]) await rootClient().createWallet({ walletName, accounts: [] });
    const completed = (await rootClient().getActivities({ filterByStatus: ["ACTIVITY_STATUS_COMPLETED"], paginationOptions: { limit: "100" } })).activities.length;
    await open(page, "#/overview?period=hour");
    for (const title of ["Activities by outcome", "Activities by type", "Signatures by outcome", "Refused requests", "Approvals waiting, by age"]) await shows(page, title);
    await page.waitForSelector("svg.plot rect.bar");
    assert.equal(await page.$eval(".figures dd", (node) => Number(node.textContent.replace(",", ""))), completed); // counted by the server
    await page.select("select[aria-label=Period]", "month");
    await page.waitForFunction(() => location.hash === "#/overview?period=month");
    await settled(page);
    await press(page, "As a table");
    await page.waitForFunction(() => document.querySelectorAll("figure:has(details[open]) tbody tr").length === 30);
    await page.focus(".probe");
    for (const key of ["ArrowLeft", "ArrowRight"]) await page.keyboard.press(key);
    const spoken = await page.$eval(".probe", (node) => node.getAttribute("aria-valuetext"));
    assert.match(spoken, /Completed \d+/);
    await shows(page, spoken);
    await inspect(page);
    const box = await (await page.$(".probed")).boundingBox();
    await page.mouse.move(box.x + box.width - 4, box.y + 40);
    await shows(page, spoken); // the newest column
    await page.select("select[aria-label=Period]", "year");
    await settled(page);
    await inspect(page);
  },

  async reset_leads_to_the_beginning(page) {
    await logIn(page);
    await open(page, "#/development/server");
    await press(page, "Reset everything");
    await shows(page, "Everything was reset to the state at the start.");
    await open(page, "#/overview");
    await settled(page);
    await shows(page, "Nothing in this period");
    await inspect(page);
  },
};

await run(cases);
