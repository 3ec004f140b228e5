// Builds the page and serves it.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { build } from "esbuild";
import { installationKey, verificationKeyOf } from "./installation-key.mjs";
import { settings } from "./settings.mjs";

const { PORT = "3000" } = process.env;
const { apiBaseUrl, authProxyId } = await settings();
const fail = (why) => {
  console.error(why);
  process.exit(1);
};
if (!authProxyId) fail("start the server with `make run`, or set KEYSTEAD_AUTH_PROXY_ID to the id of an authentication proxy");

const authProxyUrl = `${apiBaseUrl}/auth-proxy`;
const headers = { "X-Auth-Proxy-Config-ID": authProxyId };
const asked = await fetch(`${authProxyUrl}/v1/wallet_kit_config`, { method: "POST", headers, body: "{}" }).catch(() =>
  fail(`${apiBaseUrl} does not answer: start the server with \`make run\`, or set KEYSTEAD_BASE_URL to its address`),
);
const { organizationId, message } = await asked.json();
if (!asked.ok) fail(message);

const { outputFiles } = await build({
  entryPoints: [new URL("app.js", import.meta.url).pathname],
  bundle: true,
  format: "esm",
  write: false,
  define: {
    global: "globalThis",
    SERVER: JSON.stringify({ apiBaseUrl, authProxyUrl, authProxyConfigId: authProxyId, organizationId }),
  },
  plugins: [installationKey(await verificationKeyOf(apiBaseUrl))],
});
const html = await readFile(new URL("index.html", import.meta.url));

const server = createServer((request, response) => {
  const isScript = request.url === "/app.js";
  response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
  response.end(isScript ? outputFiles[0].text : html);
});
server.listen(Number(PORT), "localhost", () => console.log(`http://localhost:${server.address().port}/`));
