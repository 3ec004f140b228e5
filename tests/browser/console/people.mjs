// People: adding one by an invitation or a key file, the page behind the link, and who must approve together.
import assert from "node:assert/strict";
import { codeFor } from "../outbox.mjs";
import { CONSOLE, fill, inspect, logIn, open, press, rootClient, run, settled, shows } from "./pages.mjs";

const userNamed = async (name) => (await rootClient().getUsers()).users.find(({ userName }) => userName === name);

/** Adds a person with the form; `way`: the words of how they will log in. */
async function add(page, name, email, way, button) {
  await open(page, "#/users");
  await press(page, "Add a person");
  await settled(page);
  await fill(page, "Name", name);
  if (email) await fill(page, "E-mail", email);
  await page.evaluate((way) => [...document.querySelectorAll(".way")].find((each) => each.textContent.includes(way)).querySelector("input").click(), way);
  await inspect(page);
  await press(page, button, "button");
}

/** The person opens the link on a device of their own, makes a passkey, and logs in with it. */
async function accept(page, link, name) {
  await page.goto("about:blank");
  await page.goto(link);
  await shows(page, "Join Development");
  assert.equal(await page.evaluate(() => location.hash), "#/activities"); // the secret is gone from the address
  await shows(page, `You are invited as ${name}.`);
  await inspect(page);
  await press(page, "Create a passkey");
  await shows(page, "Your passkey is ready.");
  await inspect(page);
  await press(page, "Log in with it");
  await page.waitForSelector(".frame");
  await shows(page, name);
}

const cases = {
  async an_invitation_by_email_makes_a_passkey_and_works_once(page) {
    await logIn(page);
    await add(page, "Ann Example", "ann@example.org", "Invitation by e-mail", "Send the invitation");
    await shows(page, "An e-mail with a link is on its way to ann@example.org.");
    await inspect(page);
    await press(page, "Done");
    await shows(page, "Invited");
    await press(page, "Ann Example", ".row-link");
    await shows(page, "Ann Example has not opened the link yet.");
    await inspect(page);
    const link = await codeFor("ann@example.org");
    assert.ok(link.startsWith(`${CONSOLE}#invitation=`), link);
    await accept(page, link, "Ann Example");
    const { authenticators, apiKeys } = await userNamed("Ann Example");
    assert.deepEqual([authenticators.length, apiKeys.map(({ credential }) => credential.type)], [1, ["CREDENTIAL_TYPE_LOGIN"]]);
    await page.goto("about:blank");
    await page.goto(link);
    await shows(page, "This invitation was accepted before, has expired, or was withdrawn.");
    await inspect(page);
    await press(page, "Log in instead");
    await page.waitForSelector(".frame"); // the session of before
  },

  async an_invitation_link_is_handed_over_by_the_person_who_made_it(page) {
    const sent = [];
    page.on("request", (request) => sent.push(request.url(), request.postData() ?? ""));
    await logIn(page);
    await add(page, "Bo Example", "bo@example.org", "Invitation link to copy", "Make the link");
    await shows(page, "Hand this link to Bo Example.");
    const link = await page.$eval(".secret code", (node) => node.textContent);
    for (const each of sent) assert.ok(!each.includes(link.split("=")[1])); // only the public half was sent
    await inspect(page);
    await press(page, "Log out");
    await page.waitForSelector(".login");
    await accept(page, link, "Bo Example");
  },

  async an_invitation_that_is_withdrawn_lets_nobody_in(page) {
    await logIn(page);
    await add(page, "Cy Example", "cy@example.org", "Invitation link to copy", "Make the link");
    const link = await (await page.waitForSelector(".secret code")).evaluate((node) => node.textContent);
    await press(page, "Done");
    await press(page, "Cy Example", ".row-link");
    await press(page, "Withdraw the invitation");
    await shows(page, "The invitation was withdrawn.");
    assert.equal(await userNamed("Cy Example"), undefined);
    await page.goto("about:blank");
    await page.goto(link);
    await shows(page, "This invitation was accepted before, has expired, or was withdrawn.");
  },

  async a_link_that_is_cut_off_says_so(page) {
    await page.goto("about:blank");
    await page.goto(`${CONSOLE}#invitation=AAAA`);
    await shows(page, "This link is not complete.");
  },

  async a_key_file_has_the_name_of_the_person(page) {
    await logIn(page);
    await page.evaluate(() => {
      window.saved = [];
      HTMLAnchorElement.prototype.click = function click() {
        if (this.download) window.saved.push(this.download);
      };
    });
    await add(page, "Dée O’Bot", "", "Key file", "Add and save the file");
    await shows(page, "dee-obot.json");
    assert.deepEqual(await page.evaluate(() => window.saved), ["dee-obot.json"]);
    assert.equal((await userNamed("Dée O’Bot")).apiKeys.length, 1);
  },
};

await run(cases);
