// Credentials that the browser makes inside a form: a passkey of this device, or an API key to hand over.
import { html, useState } from "../vendor/preact.js";
import { makeKeyToHandOver } from "../session/keys.js";
import { canUsePasskeys, makePasskey } from "../session/passkeys.js";
import { current } from "../session/session.js";
import { save } from "./files.js";
import { Icon } from "./icons.js";
import { Notice, messageOf } from "./notice.js";

/** @param {{value: any, onChange: (value: any) => void}} properties */
export function PasskeyMaker({ value, onChange }) {
  const [problem, setProblem] = useState("");
  const make = async () => {
    setProblem("");
    try {
      onChange({ ...value, ...(await makePasskey(value.authenticatorName || "Keystead")) });
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  if (value.challenge) return html`<${Notice} kind="good">The passkey was created. Send this form to register it.<//>`;
  return html`<div><button type="button" class="button" disabled=${!canUsePasskeys()} onClick=${make}><${Icon} name="passkey" />Create a passkey on this device</button></div>
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}`;
}

/** @param {{value: any, onChange: (value: any) => void}} properties */
export function ApiKeyMaker({ value, onChange }) {
  const make = async () => {
    const { publicKey, privateKey } = await makeKeyToHandOver();
    const apiKeyName = value.apiKeyName || "Key file";
    saveKeyFile(apiKeyName, publicKey, privateKey);
    onChange({ ...value, apiKeyName, publicKey, curveType: "API_KEY_CURVE_P256" });
  };
  return html`<div class="stack tight"><div><button type="button" class="button" onClick=${make}><${Icon} name="key" />Create a key pair</button></div>
    <p class="small muted">The private key is saved as a file on this device and not sent. Or enter the public key of an existing key.</p></div>`;
}

/** Saves credentials under the name of who gets them. @param {string} name @param {string} publicKey @param {string} privateKey @returns {string} the file's name */
export function saveKeyFile(name, publicKey, privateKey) {
  const file = `${name.trim().toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f’']/g, "").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "credentials"}.json`;
  const content = { baseUrl: location.origin, organizationId: current().organizationId, apiPublicKey: publicKey, apiPrivateKey: privateKey };
  save(file, "application/json", `${JSON.stringify(content, null, 2)}\n`);
  return file;
}
