// Takes the pictures in docs/console (`make screenshots`): a development server with a few records, then its screens.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "../browser.mjs";

const ROOT = new URL("../../../", import.meta.url);
const FOLDER = new URL("docs/console/", ROOT);

const data = await mkdtemp(join(tmpdir(), "keystead-screenshots-"));
const server = spawn(fileURLToPath(new URL(".venv/bin/keystead", ROOT)), ["dev", "--port", "0", "--data", data, "--quiet"]);
let banner = "";
while (!banner.includes("client.getWallets")) banner += (await once(server.stdout, "data"))[0];
const credentials = JSON.parse(await readFile(join(data, "credentials.json"), "utf8"));
for (const [name, value] of [["BASE_URL", "baseUrl"], ["ORGANIZATION_ID", "organizationId"], ["API_PUBLIC_KEY", "apiPublicKey"], ["API_PRIVATE_KEY", "apiPrivateKey"]]) {
  process.env[`KEYSTEAD_${name}`] = credentials[value];
}
const { CONSOLE, fill, logIn, open, press, rootClient, shows } = await import("./pages.mjs");

const root = rootClient();
await root.createUserTag({ userTagName: "Finance", userIds: [] });
await root.createWallet({ walletName: "Treasury", accounts: [{ curve: "CURVE_ED25519", pathFormat: "PATH_FORMAT_BIP32", path: "m/44'/501'/0'/0'", addressFormat: "ADDRESS_FORMAT_SOLANA" }] });
await root.createPolicy({ policyName: "No exports", effect: "EFFECT_DENY", condition: "activity.action == 'EXPORT'", consensus: "", notes: "Keys stay here." });

/** A day of signatures, some of them of an hour; then an export. */
const clock = (change) => fetch(`${credentials.baseUrl}/dev/v1/clock`, { method: "POST", headers: { "Content-Type": "application/json", "X-Keystead-Dev": "1" }, body: JSON.stringify(change) });
const HOUR_MS = 3_600_000;
const [{ accounts: [{ address }] }] = [await root.getWalletAccounts({ walletId: (await root.getWallets()).wallets[0].walletId })];
for (let hour = 24; hour > 0; hour -= 1) {
  await clock({ system: true, advanceMs: -hour * HOUR_MS });
  for (let signed = 0; signed < (hour * 7) % 5; signed += 1) {
    await root.signRawPayload({ signWith: address, payload: `payload ${hour} ${signed}`, encoding: "PAYLOAD_ENCODING_TEXT_UTF8", hashFunction: "HASH_FUNCTION_KECCAK256" });
  }
  if (hour % 6 === 0) await root.createWallet({ walletName: `Branch ${hour}`, accounts: [] });
}
await clock({ system: true });

await mkdir(FOLDER, { recursive: true });
const browser = await launch();
const page = await browser.newPage();
await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
const picture = async (name, theme) => {
  await page.evaluate((theme) => (document.documentElement.dataset.theme = theme), theme);
  await page.screenshot({ path: fileURLToPath(new URL(`${name}-${theme}.png`, FOLDER)) });
};
await page.setViewport({ width: 1280, height: 800 });
await page.goto(CONSOLE);
await logIn(page);
await open(page, "#/development/server");
await press(page, "Create an activity that waits");
await shows(page, "0.05 ETH");
await shows(page, "missing");
await picture("approval", "light");
await open(page, "#/activities");
await shows(page, "Send 0.05 ETH");
await picture("activities", "light");
await open(page, "#/policies/new");
await fill(page, "Name", "Small payments");
await fill(page, "Condition", "eth.tx.to == '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' && eth.tx.v");
await page.waitForSelector(".offer:not([hidden]) li");
await shows(page, "cannot be read yet");
await picture("policy", "dark");
await open(page, "#/overview");
await shows(page, "Signatures and refusals");
await picture("overview", "light");
await browser.close();
server.kill();
await once(server, "exit");
await rm(data, { recursive: true });
