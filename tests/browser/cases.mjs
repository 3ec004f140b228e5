// Runs cases, each in a fresh profile of one Chromium, and reports a JSON line for each: {case, error}.
import assert from "node:assert/strict";
import { bundled } from "./bundle.mjs";
import { launch, openPage, servePage } from "./browser.mjs";

const { KEYSTEAD_BASE_URL, KEYSTEAD_ORGANIZATION_ID, KEYSTEAD_AUTH_PROXY_ID } = process.env;

/** The settings of @turnkey/core that name a server: the page finds them as `window.server`. */
export const server = {
  apiBaseUrl: KEYSTEAD_BASE_URL,
  organizationId: KEYSTEAD_ORGANIZATION_ID,
  authProxyUrl: `${KEYSTEAD_BASE_URL}/auth-proxy`,
  authProxyConfigId: KEYSTEAD_AUTH_PROXY_ID,
};

async function verificationKey() {
  const { keys } = await (await fetch(`${KEYSTEAD_BASE_URL}/installation-keys`)).json();
  return keys.find(({ name }) => name === "verification_key").publicKey;
}

/** `cases`: functions of a page, by name. `entry`: the page's script. */
export async function run(cases, entry = "kits.js") {
  const script = await bundled(new URL(`./page/${entry}`, import.meta.url).pathname, await verificationKey());
  const served = await servePage({ "/page.js": script });
  const browser = await launch();
  for (const [name, body] of Object.entries(cases)) {
    const opened = await openPage(browser, served.url, server);
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
  served.close();
}
