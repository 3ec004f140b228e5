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

/** The code and the text of the error that `promise` ends with: what an application can tell apart. */
window.errorOf = async (promise) => {
  try {
    await promise;
  } catch ({ code, message }) {
    return { code, message };
  }
  return null;
};
