// Logging in to the console at an OpenID Connect provider, and back.
import assert from "node:assert/strict";
import { page as pageClient, startProvider } from "../oidc_provider.mjs";
import { CONSOLE, inspect, logIn, open, press, run, settled, shows } from "./pages.mjs";

const { KEYSTEAD_ISSUER: issuer, KEYSTEAD_ISSUER_KEY, KEYSTEAD_USER_ID } = process.env;
const CLIENT_ID = "console";

/** The provider logs in the person that the address names, at once. A person would type the name there. */
async function asPerson(page, name) {
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isNamed = url.origin !== issuer || url.pathname !== "/auth" || url.searchParams.has("login_hint");
    if (isNamed) return request.continue();
    url.searchParams.set("login_hint", name);
    url.searchParams.set("prompt", "login");
    return request.respond({ status: 302, headers: { location: url.href } });
  });
}

const cases = {
  async an_identity_is_added_and_then_logs_in(page) {
    await asPerson(page, "dana");
    await logIn(page);
    await open(page, `#/users/${KEYSTEAD_USER_ID}`);
    await inspect(page);
    await press(page, "Add one of Example");
    await shows(page, "Create OAuth providers");
    await press(page, "Log out");
    await shows(page, "Log in with Example");
    await inspect(page);
    assert.equal(await page.$eval("#organization", (node) => node.value), ""); // the identity finds it
    await page.evaluate(() => (location.hash = "#/policies"));
    await press(page, "Log in with Example");
    await page.waitForSelector(".frame");
    await settled(page);
    assert.equal(await page.evaluate(() => location.hash), "#/policies"); // where the person was, without the token
    await page.reload();
    await page.waitForSelector(".frame");
    await open(page, `#/users/${KEYSTEAD_USER_ID}`);
    await shows(page, "this browser");
  },

  async somebody_without_a_user_is_told(page) {
    await asPerson(page, "nobody");
    await press(page, "Log in with Example");
    await page.waitForSelector(".notice.warn");
    assert.ok(!(await page.$(".frame")));
  },

  async an_answer_that_was_not_asked_for_is_refused(page) {
    await page.evaluate(() => (location.hash = "#id_token=a.b.c&state=x"));
    await shows(page, "this login was not started in this browser");
    assert.equal(await page.evaluate(() => location.hash), "#/activities");
  },
};

const close = await startProvider(issuer, JSON.parse(KEYSTEAD_ISSUER_KEY), CONSOLE, [pageClient(CLIENT_ID)]);
await run(cases);
close();
