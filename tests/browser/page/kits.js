// What the cases use inside the browser: the published packages, unmodified.
import * as core from "@turnkey/core";
import * as crypto from "@turnkey/crypto";
import * as http from "@turnkey/http";
import { IndexedDbStamper } from "@turnkey/indexed-db-stamper";
import * as sdkBrowser from "@turnkey/sdk-browser";
import { WebauthnStamper } from "@turnkey/webauthn-stamper";

window.kits = { core, crypto, http, sdkBrowser, IndexedDbStamper, WebauthnStamper };
