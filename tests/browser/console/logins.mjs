// Logging in to the console: by the link of `keystead dev`, by an API key file, by a passkey; and logging out.
import assert from "node:assert/strict";
import { credentialsFile, dropFile, inspect, logIn, open, press, rootClient, run, settled, shows } from "./pages.mjs";

const { KEYSTEAD_BASE_URL, KEYSTEAD_CONSOLE_URL, KEYSTEAD_ORGANIZATION_ID, KEYSTEAD_USER_ID, KEYSTEAD_API_PRIVATE_KEY } = process.env;

/** Moves the server's clock. */
const clock = (change) => fetch(`${KEYSTEAD_BASE_URL}/dev/v1/clock`, { method: "POST", headers: { "Content-Type": "application/json", "X-Keystead-Dev": "1" }, body: JSON.stringify(change) });

/** Everything that the page keeps, as text: a key that can be exported would show itself. */
const kept = (page) => page.evaluate(async () => {
  const database = await new Promise((resolve) => (indexedDB.open("keystead-console", 1).onsuccess = (event) => resolve(event.target.result)));
  const asked = database.transaction("logins").objectStore("logins").getAll();
  const [login] = await new Promise((resolve) => (asked.onsuccess = () => resolve(asked.result)));
  database.close();
  const exported = await crypto.subtle.exportKey("jwk", login.key.privateKey).then(() => "exported", (error) => error.name);
  return { kind: login.kind, expiresAtMs: login.expiresAtMs, exported, text: JSON.stringify([login, { ...localStorage }, { ...sessionStorage }]) };
});

const cases = {
  async the_link_of_keystead_dev_logs_in_once(page) {
    await page.goto("about:blank");
    await page.goto(KEYSTEAD_CONSOLE_URL);
    await page.waitForSelector(".frame");
    assert.equal(await page.evaluate(() => location.hash), "#/activities");
    await shows(page, "Developer");
    assert.equal((await kept(page)).exported, "InvalidAccessError");
    await press(page, "Log out");
    await shows(page, "Log in to Keystead");
    await page.goto("about:blank");
    await page.goto(KEYSTEAD_CONSOLE_URL);
    await shows(page, "this link was used before");
  },

  async a_key_file_logs_in_and_the_key_stays_in_the_browser(page) {
    const sent = [];
    page.on("request", (request) => sent.push(request.url(), JSON.stringify(request.headers()), request.postData() ?? ""));
    await logIn(page);
    await shows(page, "Developer");
    const { kind, exported, text } = await kept(page);
    assert.deepEqual([kind, exported], ["api-key", "InvalidAccessError"]);
    for (const each of [...sent, text]) assert.ok(!each.includes(KEYSTEAD_API_PRIVATE_KEY));
    await page.reload();
    await page.waitForSelector(".frame");
  },

  async files_that_are_no_credentials_are_told_why(page) {
    for (const [text, why] of [
      ["not json", "This file is not JSON"],
      ["{}", "no text “organizationId”"],
      [credentialsFile({ apiPublicKey: "02zz" }), "compressed P-256 point"],
      [credentialsFile({ apiPrivateKey: "11".repeat(32) }), "does not belong to the public key"],
      [credentialsFile({ organizationId: KEYSTEAD_USER_ID }), "no organization found"],
    ]) {
      await dropFile(page, text);
      await shows(page, why);
    }
    await inspect(page);
  },

  async a_passkey_is_added_then_logs_in(page) {
    await logIn(page);
    await open(page, `#/users/${KEYSTEAD_USER_ID}`);
    await press(page, "Add a passkey");
    await shows(page, "The passkey was added.");
    await inspect(page);
    await press(page, "Log out");
    await page.waitForSelector(".login");
    assert.equal(await page.$eval("#organization", (node) => node.value), ""); // the passkey finds its organization
    await press(page, "Log in with a passkey");
    await page.waitForSelector(".frame");
    assert.equal((await kept(page)).kind, "session");
    await settled(page);
  },

  async a_code_by_email_logs_in(page) {
    const contact = "developer@example.org";
    await rootClient().updateUserEmail({ userId: KEYSTEAD_USER_ID, userEmail: contact });
    await rootClient().setOrganizationFeature({ name: "FEATURE_NAME_OTP_EMAIL_AUTH" });
    await page.waitForSelector("#contact");
    await page.type("#organization", KEYSTEAD_ORGANIZATION_ID);
    await page.type("#contact", contact);
    await press(page, "Send a code");
    await shows(page, "A code is on its way");
    await inspect(page);
    await page.type("#code", "WRONG1");
    await press(page, "Log in with the code");
    await page.waitForSelector(".notice.bad");
    await page.$eval("#code", (node) => node.select());
    await press(page, "Take the code from its outbox");
    await page.waitForFunction(() => document.getElementById("code").value !== "WRONG1");
    await press(page, "Log in with the code");
    await page.waitForSelector(".frame");
    assert.deepEqual([(await kept(page)).kind, (await kept(page)).exported], ["session", "InvalidAccessError"]);
    await shows(page, "Developer");
  },

  async a_session_that_the_server_ends_leads_to_the_log_in(page) {
    await logIn(page);
    await page.setRequestInterception(true);
    page.on("request", (request) => {
      const isQuery = request.url().includes("/query/");
      if (isQuery) request.respond({ status: 401, contentType: "application/json", body: '{"code":16,"message":"the key has expired","details":[]}' });
      else request.continue();
    });
    await shows(page, "The session has ended: the key has expired");
  },

  async the_tabs_of_a_browser_share_one_session(page) {
    const other = await page.browserContext().newPage();
    other.setDefaultTimeout(page.getDefaultTimeout());
    await other.setViewport({ width: 1280, height: 860 });
    await other.goto(page.url());
    await other.waitForSelector(".login");
    await logIn(page);
    await other.waitForSelector(".frame"); // logged in with the first
    await open(page, "#/actions/create_wallet");
    await page.type("form input", "Half typed");
    await press(other, "Log out");
    await page.waitForSelector(".login");
    await shows(page, "You logged out in another tab.");
    await logIn(page);
    await page.waitForFunction(() => document.querySelector("form input")?.value === "Half typed");
    await other.close();
  },

  async a_session_that_ends_in_the_middle_of_a_form_loses_nothing(page) {
    await logIn(page);
    await open(page, "#/actions/create_wallet");
    await page.type("form input", "Half typed");
    await page.setRequestInterception(true);
    let isEnded = true;
    page.on("request", (request) => {
      if (isEnded && /\/(query|submit)\//.test(request.url())) request.respond({ status: 401, contentType: "application/json", body: '{"code":16,"message":"the key has expired","details":[]}' });
      else request.continue();
    });
    await press(page, "Create wallet", "button");
    await shows(page, "The session has ended: the key has expired");
    isEnded = false;
    await logIn(page);
    await shows(page, "Your earlier input was restored.");
    assert.equal(await page.$eval("form input", (node) => node.value), "Half typed");
  },

  async a_session_that_is_about_to_end_says_so_and_goes_on(page) {
    await logIn(page);
    await open(page, `#/users/${KEYSTEAD_USER_ID}`);
    await press(page, "Add a passkey");
    await shows(page, "The passkey was added.");
    await press(page, "Log out");
    await press(page, "Log in with a passkey");
    await page.waitForSelector(".frame");
    const ends = async () => (await kept(page)).expiresAtMs;
    const [first, leftMs] = [await ends(), 120_000];
    const aheadMs = first - leftMs - Date.now();
    await clock({ advanceMs: aheadMs });
    await page.evaluateOnNewDocument((aheadMs) => {
      const now = Date.now;
      Date.now = () => now() + aheadMs;
    }, aheadMs);
    await page.reload();
    await shows(page, "This session ends in 2 minutes."); // the frame says it, before the screen is there
    await settled(page);
    await inspect(page);
    await press(page, "Stay logged in");
    await page.waitForFunction(() => !document.body.innerText.includes("This session ends"));
    assert.ok((await ends()) >= first + 43_200_000 - 2 * leftMs, String([first, await ends()]));
    await page.reload();
    await settled(page);
    await clock({ advanceMs: 2 * 43_200_000 });
    await shows(page, "The session has ended:");
    await inspect(page);
    await clock({ system: true });
  },

  async the_page_runs_no_script_but_its_own(page) {
    const blocked = await page.evaluate(async () => {
      const seen = [];
      addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
      const inline = document.createElement("script");
      try {
        inline.textContent = "window.ran = true";
      } catch (error) {
        seen.push(error.name);
      }
      document.body.append(inline);
      try {
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.ran = true'>");
      } catch (error) {
        seen.push(error.name);
      }
      const refused = new Promise((resolve) => addEventListener("securitypolicyviolation", (event) => event.effectiveDirective === "connect-src" && resolve()));
      await fetch("https://example.org/").catch(() => undefined);
      await refused;
      return { seen, ran: window.ran };
    });
    assert.equal(blocked.ran, undefined);
    assert.ok(blocked.seen.includes("connect-src"), String(blocked.seen));
    assert.ok(blocked.seen.includes("TypeError"), String(blocked.seen));
  },
};

await run(cases);
