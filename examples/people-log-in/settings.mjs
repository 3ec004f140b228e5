// The server and its authentication proxy: from variables, else from the file that `keystead dev` writes.
import { readFile } from "node:fs/promises";

const FILE = new URL("../../.keystead/credentials.json", import.meta.url);

/** `authProxyId` is undefined if neither names one. */
export async function settings({ KEYSTEAD_BASE_URL, KEYSTEAD_AUTH_PROXY_ID, KEYSTEAD_CREDENTIALS } = process.env) {
  const written = await readFile(KEYSTEAD_CREDENTIALS ?? FILE, "utf8").then(JSON.parse, () => ({}));
  return {
    apiBaseUrl: KEYSTEAD_BASE_URL ?? written.baseUrl ?? "http://localhost:8080",
    authProxyId: KEYSTEAD_AUTH_PROXY_ID ?? written.authProxyId,
  };
}
