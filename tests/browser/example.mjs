// examples/people-log-in as a newcomer starts it, from a copy whose packages are the ones here.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runAt } from "./cases.mjs";
import { codeFor } from "./outbox.mjs";

const click = (page, id) => page.locator(`#${id}`).click();
const text = async (page, selector) => {
  const shown = await page.waitForSelector(`${selector}:not(:empty)`, { visible: true });
  return shown.evaluate((node) => node.textContent);
};

const cases = {
  async a_passkey_signs_up_signs_stays_logs_out_and_in(page) {
    await click(page, "sign-up");
    const organizationId = await text(page, "#organization");
    await click(page, "sign");
    assert.equal(await text(page, "#problem"), "Create a wallet first.");
    await click(page, "create");
    const wallet = await text(page, "#wallets li");
    assert.match(wallet, /^Savings: 0x[0-9a-fA-F]{40}$/);
    await click(page, "create");
    assert.match(await text(page, "#wallets li + li"), /^Savings 2: 0x[0-9a-fA-F]{40}$/);
    await click(page, "sign");
    assert.match(await text(page, "#signature"), /^[0-9a-f]{128}$/);
    await click(page, "refresh");
    await click(page, "log-out");
    await click(page, "log-in");
    assert.equal(await text(page, "#organization"), organizationId);
    assert.equal(await text(page, "#wallets li"), wallet);
    assert.equal(await page.$eval("#problem", (node) => node.textContent), "");
  },

  async a_code_by_email_signs_up_and_logs_in(page) {
    const contact = `${randomUUID()}@example.org`;
    const logIn = async (count) => {
      await page.locator("#ask input").fill(contact);
      await page.locator("#ask button").click();
      await page.locator("#answer input").fill(await codeFor(contact, count));
      await page.locator("#answer button").click();
      return text(page, "#organization");
    };
    const organizationId = await logIn(1);
    await click(page, "log-out");
    assert.equal(await logIn(2), organizationId);
  },
};

const folder = await mkdtemp(join(tmpdir(), "people-log-in-"));
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
await cp(here("../../examples/people-log-in"), folder, { recursive: true });
await symlink(here("../node_modules"), join(folder, "node_modules"));
const example = spawn(process.execPath, ["serve.mjs"], {
  cwd: folder,
  env: { ...process.env, PORT: "0" },
  stdio: ["ignore", "pipe", "inherit"],
});
const [url] = await Promise.race([once(example.stdout, "data"), once(example, "exit")]);
await runAt(String(url).trim(), cases);
example.kill();
await rm(folder, { recursive: true });
