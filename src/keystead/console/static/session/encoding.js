// Texts of bytes: hex, base64url, and the DER form of ECDSA signatures. Pure.

/** @param {Uint8Array} bytes */
export function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {string} hex pairs of hex digits, without 0x */
export function bytesOfHex(hex) {
  if (!/^([0-9a-f]{2})*$/i.test(hex)) throw new Error("expected pairs of hex digits");
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** @param {Uint8Array} bytes */
export function base64urlOf(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @param {string} text base64url, without padding */
export function bytesOfBase64url(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

/** @param {string} text */
export function utf8(text) {
  return new TextEncoder().encode(text);
}

/** @param {string} text */
export async function sha256Hex(text) {
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text))));
}

/**
 * The ASN.1 DER form of an ECDSA signature, of the 64 bytes of r and s that WebCrypto makes.
 * @param {Uint8Array} signature
 */
export function derOf(signature) {
  const numbers = [...integer(signature.slice(0, 32)), ...integer(signature.slice(32))];
  return Uint8Array.from([0x30, numbers.length, ...numbers]);
}

/** The 64 bytes of r and s, of an ECDSA signature in DER. @param {Uint8Array} der */
export function rawOf(der) {
  const raw = new Uint8Array(64);
  let at = 2;
  for (const end of [32, 64]) {
    const length = der[at + 1];
    const digits = der.slice(at + 2, at + 2 + length).slice(-32);
    raw.set(digits, end - digits.length);
    at += 2 + length;
  }
  return raw;
}

/** @param {Uint8Array} bytes */
function integer(bytes) {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const digits = [...bytes.slice(start)];
  if (digits[0] >= 0x80) digits.unshift(0);
  return [0x02, digits.length, ...digits];
}
