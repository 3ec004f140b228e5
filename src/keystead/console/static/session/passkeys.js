// Passkeys of this browser: registering one, and stamping a request with one.
import { base64urlOf, bytesOfBase64url, sha256Hex, utf8 } from "./encoding.js";

/** Registered with the server: the members of AuthenticatorParamsV2, but for the name. */
/** @typedef {{challenge: string, attestation: {credentialId: string, clientDataJson: string, attestationObject: string, transports: string[]}}} NewPasskey */

/**
 * Makes a passkey for the host of this page.
 * @param {string} userName as the browser's own dialogue shows it
 * @returns {Promise<NewPasskey>}
 */
export async function makePasskey(userName) {
  const challenge = crypto.getRandomValues(new Uint8Array(32));
  const made = /** @type {PublicKeyCredential} */ (
    await navigator.credentials.create({
      publicKey: {
        challenge,
        rp: { name: "Keystead" },
        user: { id: crypto.getRandomValues(new Uint8Array(16)), name: userName, displayName: userName },
        pubKeyCredParams: [{ type: "public-key", alg: -7 }, { type: "public-key", alg: -257 }],
        authenticatorSelection: { residentKey: "required", userVerification: "preferred" },
        timeout: 300_000,
      },
    })
  );
  const response = /** @type {AuthenticatorAttestationResponse} */ (made.response);
  return {
    challenge: base64urlOf(challenge),
    attestation: {
      credentialId: made.id,
      clientDataJson: base64urlOf(new Uint8Array(response.clientDataJSON)),
      attestationObject: base64urlOf(new Uint8Array(response.attestationObject)),
      transports: response.getTransports().map((name) => TRANSPORTS[name]).filter((name) => name !== undefined),
    },
  };
}

/** @type {Record<string, string>} */
const TRANSPORTS = {
  ble: "AUTHENTICATOR_TRANSPORT_BLE",
  hybrid: "AUTHENTICATOR_TRANSPORT_HYBRID",
  internal: "AUTHENTICATOR_TRANSPORT_INTERNAL",
  nfc: "AUTHENTICATOR_TRANSPORT_NFC",
  usb: "AUTHENTICATOR_TRANSPORT_USB",
};

/**
 * The header X-Stamp-WebAuthn of a request with this body. The browser asks the person.
 * @param {string} body
 * @param {string[]} credentialIds base64url; none: any passkey of this host
 * @returns {Promise<Record<string, string>>}
 */
export async function stampByPasskey(body, credentialIds = []) {
  const allowed = credentialIds.map((id) => ({ type: /** @type {const} */ ("public-key"), id: bytesOfBase64url(id) }));
  const found = /** @type {PublicKeyCredential} */ (
    await navigator.credentials.get({
      publicKey: {
        challenge: utf8(await sha256Hex(body)),
        allowCredentials: allowed,
        userVerification: "preferred",
        timeout: 300_000,
      },
    })
  );
  const response = /** @type {AuthenticatorAssertionResponse} */ (found.response);
  const stamp = {
    credentialId: found.id,
    clientDataJson: base64urlOf(new Uint8Array(response.clientDataJSON)),
    authenticatorData: base64urlOf(new Uint8Array(response.authenticatorData)),
    signature: base64urlOf(new Uint8Array(response.signature)),
  };
  return { "X-Stamp-WebAuthn": JSON.stringify(stamp) };
}

/** Whether this page can use passkeys: browsers have them on https and on localhost. */
export function canUsePasskeys() {
  return window.isSecureContext && typeof PublicKeyCredential === "function";
}
