// Runs cases, each in a fresh profile of one Chromium, and reports a JSON line for each: {case, error}.
import assert from "node:assert/strict";
import { verificationKeyOf } from "../../examples/people-log-in/installation-key.mjs";
import { bundled } from "./bundle.mjs";
import { launch, openPage, servePage } from "./browser.mjs";

const { KEYSTEAD_BASE_URL, KEYSTEAD_ORGANIZATION_ID, KEYSTEAD_AUTH_PROXY_ID } = process.env;

/** The settings of @turnkey/core that name a server: the page finds them as `window.server`. */
const server = {
  apiBaseUrl: KEYSTEAD_BASE_URL,
  organizationId: KEYSTEAD_ORGANIZATION_ID,
  authProxyUrl: `${KEYSTEAD_BASE_URL}/auth-proxy`,
  authProxyConfigId: KEYSTEAD_AUTH_PROXY_ID,
};

/** `cases`: functions of a page, by name. `entry`: the page's script, in page/. */
export async function run(cases, entry = "kits.js") {
  const key = await verificationKeyOf(KEYSTEAD_BASE_URL);
  const served = await servePage(await bundled(new URL(`./page/${entry}`, import.meta.url).pathname, key));
  await runAt(served.url, cases);
  served.close();
}

export async function runAt(url, cases) {
  const browser = await launch();
  for (const [name, body] of Object.entries(cases)) {
    const opened = await openPage(browser, url, server);
    let error = null;
    try {
      await body(opened.page);
      assert.deepEqual(opened.problems, []);
    } catch (failed) {
      error = [failed.stack, "the server refused:", ...(await Promise.all(opened.refusals))].join("\n");
    }
    console.log(JSON.stringify({ case: name, error }));
    await opened.close();
  }
  await browser.close();
}
