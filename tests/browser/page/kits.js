// What the cases use inside the browser: the published packages, unmodified.
import * as core from "@turnkey/core";
import * as crypto from "@turnkey/crypto";
import * as http from "@turnkey/http";
import { IndexedDbStamper } from "@turnkey/indexed-db-stamper";
import * as sdkBrowser from "@turnkey/sdk-browser";
import { WebauthnStamper } from "@turnkey/webauthn-stamper";

window.kits = { core, crypto, http, sdkBrowser, IndexedDbStamper, WebauthnStamper };

/** A client of @turnkey/core as an application configures it. `window.server` says where the server is. */
window.connect = async (options = {}) => {
  const client = new core.TurnkeyClient({ ...window.server, passkeyConfig: { rpId: "localhost" }, ...options });
  await client.init();
  return client;
};

/** What the error that `promise` ends with tells an application; null if it ends well. */
window.errorOf = async (promise) => {
  try {
    await promise;
  } catch ({ code, message, cause }) {
    return { code, message, cause: String(cause) };
  }
  return null;
};
