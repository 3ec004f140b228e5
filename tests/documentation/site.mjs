// node site.mjs FOLDER: opens the built site from its files in Chromium, without a network, and prints a JSON line:
//   {foreign: what pages asked another origin for, diagrams: how many were drawn, results: what the search says,
//    problems: errors of scripts}
import { pathToFileURL } from "node:url";
import { launch } from "../browser/browser.mjs";

const [folder, picture] = process.argv.slice(2);
const browser = await launch();
const page = await browser.newPage();
const [foreign, problems] = [[], []];
await page.setRequestInterception(true);
page.on("request", (request) => {
  if (/^(file|data|blob|about):/.test(request.url())) return request.continue();
  foreign.push(request.url());
  return request.abort();
});
page.on("pageerror", (error) => problems.push(String(error)));
const open = (name) => page.goto(String(pathToFileURL(`${folder}/${name}`)), { waitUntil: "load" });

await open("diagrams.html");
await page.waitForFunction(() => !document.querySelector("pre.mermaid") && document.querySelector("div.mermaid"));
const diagrams = await page.$$eval("div.mermaid", (drawn) => drawn.length);
if (picture) await page.screenshot({ path: picture, fullPage: true });

await open("index.html");
await page.keyboard.press("/");
await page.keyboard.type("fingerprint");
const found = await page.waitForFunction(() => {
  const roots = [...document.querySelectorAll("*")].map((element) => element.shadowRoot ?? element);
  return roots.map((root) => /\d+ results/.exec(root.textContent)).find(Boolean)?.[0];
});
console.log(JSON.stringify({ foreign, diagrams, results: await found.jsonValue(), problems }));
await browser.close();
