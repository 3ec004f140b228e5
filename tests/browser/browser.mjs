// Chromium with a virtual authenticator, and a small server on localhost for the page that it opens.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";
import { codeFor } from "./outbox.mjs";

const SWITCHES = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"];

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

const UNPACKING_MS = 30_000;

/** The package unpacks Chromium when it is first asked; another process may be doing that just now. */
export async function launch() {
  const begunMs = Date.now();
  for (;;) {
    try {
      return await puppeteer.launch({ executablePath: await chromium.executablePath(), headless: "shell", args: SWITCHES });
    } catch (refused) {
      if (!String(refused).includes("ETXTBSY") || Date.now() - begunMs > UNPACKING_MS) throw refused;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** A page in a fresh profile, with a virtual authenticator that says yes to everything. `server`: for `window.server`. */
export async function openPage(browser, url, server) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
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
