// react-wallet-kit in a page built with its ordinary tools: people click through its dialogs.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { run } from "./cases.mjs";
import { codeFor } from "./outbox.mjs";

const click = (page, text) => page.locator(`::-p-xpath(//button[contains(., "${text}")])`).click();
const textOf = async (page, selector) => (await page.waitForSelector(selector)).evaluate((node) => node.textContent);

const cases = {
  async a_passkey_signs_up_logs_out_and_in(page) {
    await click(page, "Log in");
    await click(page, "Sign up with passkey");
    assert.equal(await textOf(page, "li"), "first");
    const organizationId = await textOf(page, "#organization");
    await click(page, "Log out");
    await click(page, "Log in");
    await click(page, "Log in with passkey");
    assert.equal(await textOf(page, "#organization"), organizationId);
  },

  async a_code_by_email_signs_up(page) {
    const contact = `${randomUUID()}@example.org`;
    await click(page, "Log in");
    await page.locator("input[type=email]").fill(contact);
    await page.keyboard.press("Enter");
    await page.locator("input[inputmode=numeric]").click();
    await page.keyboard.type(await codeFor(contact));
    assert.equal(await textOf(page, "li"), "first");
  },
};

await run(cases, "react.jsx");
