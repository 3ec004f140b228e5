// Chromium with a virtual authenticator, and a small server on localhost for the page that it opens.
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";
import { codeFor } from "./outbox.mjs";

// One renderer at a time is enough, and none is started in reserve.
const RENDERERS = ["--renderer-process-limit=1", "--disable-features=SpareRendererForSitePerProcess"];
const SWITCHES = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync", ...RENDERERS];

// How long to wait for what must happen: much longer than a slow machine needs.
const PATIENCE_MS = 300_000;

/** Serves page/index.html with this script on localhost, which browsers treat as a secure place. */
export async function servePage(script) {
  const html = await readFile(new URL("./page/index.html", import.meta.url));
  const server = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : html);
  });
  await new Promise((resolve) => server.listen(0, "localhost", resolve));
  return { url: `http://localhost:${server.address().port}/`, close: () => server.close() };
}

const UNPACKED = fileURLToPath(new URL("../node_modules/.chromium", import.meta.url));

/** Chromium, which its package unpacks into the temporary folder: here that is one that stays until the next install. */
async function executable() {
  if (!existsSync(UNPACKED)) {
    const [folder, temporary] = [await mkdtemp(`${UNPACKED}-`), tmpdir()];
    process.env.TMPDIR = folder;
    await chromium.executablePath();
    process.env.TMPDIR = temporary;
    await rename(folder, UNPACKED).catch(() => rm(folder, { recursive: true })); // another process was first
  }
  return join(UNPACKED, "chromium");
}

export async function launch() {
  const patience = { timeout: PATIENCE_MS, protocolTimeout: PATIENCE_MS };
  return puppeteer.launch({ executablePath: await executable(), headless: "shell", args: SWITCHES, ...patience });
}

/** A page in a fresh profile, with a virtual authenticator that says yes to everything. `server`: for `window.server`. */
export async function openPage(browser, url, server) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const devtools = await page.createCDPSession();
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  const refusals = [];
  const told = async (answer) => `${answer.url()} ${answer.status()} ${await answer.text().catch(String)}`;
  page.on("response", (answer) => answer.status() >= 400 && refusals.push(told(answer)));
  await page.evaluateOnNewDocument((server) => Object.assign(window, { server }), server);
  await page.exposeFunction("codeFor", codeFor);
  await page.goto(url, { waitUntil: "load" });
  return { page, problems, refusals, close: () => context.close() };
}
