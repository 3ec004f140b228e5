// The console as a person uses it: pages that are logged in, ways to press and read, and what holds on every screen.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { Turnkey } from "@turnkey/sdk-server";
import { runAt } from "../cases.mjs";

const { KEYSTEAD_BASE_URL, KEYSTEAD_ORGANIZATION_ID, KEYSTEAD_API_PUBLIC_KEY, KEYSTEAD_API_PRIVATE_KEY } = process.env;

export const CONSOLE = `${KEYSTEAD_BASE_URL}/console/`;
const AXE = await readFile(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

const WINDOW = { width: 1280, height: 860 };
const POLLING_MS = 30; // the default, each frame, makes Chromium draw frames

/** Runs cases at the console. `cases`: functions of a page, by name. */
export async function run(cases) {
  const prepared = Object.entries(cases).map(([name, body]) => [name, async (page) => {
    await page.setViewport(WINDOW);
    await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
    await body(page);
  }]);
  await runAt(CONSOLE, Object.fromEntries(prepared));
}

/** A credentials file that the page gets as a person would choose it. */
export function credentialsFile({ organizationId, apiPublicKey, apiPrivateKey } = {}) {
  return JSON.stringify({
    organizationId: organizationId ?? KEYSTEAD_ORGANIZATION_ID,
    apiPublicKey: apiPublicKey ?? KEYSTEAD_API_PUBLIC_KEY,
    apiPrivateKey: apiPrivateKey ?? KEYSTEAD_API_PRIVATE_KEY,
  });
}

/** The server's root user, by a published client. */
export function rootClient() {
  return clientOf({ publicKey: KEYSTEAD_API_PUBLIC_KEY, privateKey: KEYSTEAD_API_PRIVATE_KEY });
}

/** A client of a user of the organization, with keys as `generateP256KeyPair` of @turnkey/crypto makes them. */
export function clientOf({ publicKey, privateKey }) {
  return new Turnkey({
    apiBaseUrl: KEYSTEAD_BASE_URL,
    apiPublicKey: publicKey,
    apiPrivateKey: privateKey,
    defaultOrganizationId: KEYSTEAD_ORGANIZATION_ID,
    activityPoller: { intervalMs: 10, numRetries: 1 }, // an activity that waits for a vote is asked for no longer
  }).apiClient();
}

/** Gives the page a file as if it was dropped on the log-in screen. */
export async function dropFile(page, text) {
  await page.waitForSelector(".drop");
  await page.evaluate((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], "credentials.json", { type: "application/json" }));
    document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, text);
}

export async function logIn(page, file = credentialsFile()) {
  await dropFile(page, file);
  await page.waitForSelector(".frame");
}

export async function open(page, address) {
  await page.evaluate((address) => (location.hash = address), address);
  await settled(page);
}

/** Waits until nothing says that it loads. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector("h1") && !document.querySelector(".loading"), { polling: POLLING_MS });
}

/** Presses a button or link by its text. */
export async function press(page, text, tag = "a, button, summary") {
  const handle = await page.waitForFunction(async (text, tag) => {
    const node = [...document.querySelectorAll(tag)].find((node) => node.textContent.trim() === text && !node.disabled && node.offsetParent);
    if (!node) return null;
    const place = () => JSON.stringify(node.getBoundingClientRect());
    const before = place();
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    return node.isConnected && place() === before ? node : null; // a click at a place that it has left would be lost
  }, {}, text, tag);
  await handle.asElement().click();
}

/** Waits until the page shows this text somewhere. */
export async function shows(page, text) {
  await page.waitForFunction((text) => document.body.innerText.includes(text), { polling: POLLING_MS }, text)
    .catch(async () => assert.fail(`the page does not show “${text}”:\n${await page.evaluate(() => document.body.innerText)}`));
}

/** Types into the field with this label. */
export async function fill(page, label, text) {
  const handle = await page.waitForFunction((label) => {
    const named = [...document.querySelectorAll("label")].find((node) => node.textContent.replace(/\(optional\)/, "").trim() === label);
    return named && (named.control ?? document.getElementById(named.htmlFor));
  }, {}, label);
  const field = handle.asElement();
  if (await field.evaluate((node) => node.tagName === "SELECT")) await field.select(text);
  else {
    await field.evaluate((node) => node.select?.());
    await field.type(text);
  }
}

const TABS_MAX = 120;

/** Reaches what has this name by Tab alone, sees that it shows the focus, and types into it or presses Enter. */
export async function enter(page, name, text) {
  for (let presses = 0; presses < TABS_MAX; presses += 1) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate((name) => {
      const node = document.activeElement;
      const label = node.labels?.[0]?.textContent.replace(/\(optional\)/, "") ?? node.getAttribute("aria-label") ?? node.textContent;
      if (label.trim() !== name) return null;
      const seen = [node, node.closest(".editor"), "::after"].some((each) => {
        const style = each === "::after" ? getComputedStyle(node, each) : each && getComputedStyle(each);
        return style && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
      });
      return { seen };
    }, name);
    if (!found) continue;
    assert.ok(found.seen, `“${name}” does not show the focus`);
    if (text === undefined) await page.keyboard.press("Enter");
    else await page.keyboard.type(text);
    await page.keyboard.press("Escape"); // completions that were offered
    return;
  }
  assert.fail(`Tab does not reach “${name}”`);
}

const LOOKS = ["light", "dark"].flatMap((theme) => [360, 2560].map((width) => [theme, width]));

/** The rules of axe, and those of them that depend on the theme. One about colours is not among the usual ones. */
const ALL = { resultTypes: ["violations"] };
const OF_COLOURS = { ...ALL, runOnly: ["cat.color"], rules: { "color-contrast-enhanced": { enabled: false } } };

/** What holds on every screen, in both themes, narrow and wide: axe finds nothing, and nothing is wider than the page. */
export async function inspect(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  for (const [theme, width] of LOOKS) {
    await page.setViewport({ width, height: 900 });
    const { violations, isTooWide } = await page.evaluate(async (theme, rules) => {
      document.documentElement.dataset.theme = theme;
      const { violations } = await axe.run(document, rules);
      return { violations, isTooWide: document.documentElement.scrollWidth > innerWidth };
    }, theme, theme === LOOKS[0][0] ? ALL : OF_COLOURS);
    const where = `${await page.evaluate(() => location.hash)} ${theme} ${width}`;
    assert.ok(!isTooWide, `${where}: wider than the page`);
    const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).slice(0, 3).join(" ")}`);
    assert.deepEqual(found, [], where);
  }
  await isWithin(page);
  await page.setViewport(WINDOW);
}

const BETWEEN = [700, 900, WINDOW.width];

/** At widths between narrow and wide, nothing is wider than the page; in the usual window nothing is wider than its card. */
async function isWithin(page) {
  for (const width of BETWEEN) {
    await page.setViewport({ width, height: WINDOW.height });
    const tooWide = await page.evaluate((isUsual) => {
      const isCut = (node) => node.scrollWidth > node.clientWidth + 1;
      const cards = isUsual ? [...document.querySelectorAll(".card")].filter(isCut).map((card) => card.innerText.slice(0, 80)) : [];
      return document.documentElement.scrollWidth > innerWidth ? ["the page", ...cards] : cards;
    }, width === WINDOW.width);
    assert.deepEqual(tooWide, [], `${await page.evaluate(() => location.hash)} ${width}: wider than its place`);
  }
}
