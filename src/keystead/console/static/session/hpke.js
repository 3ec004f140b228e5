// HPKE (RFC 9180) in base mode with the suite of bundles: P-256, HKDF-SHA256, AES-256-GCM. One message for each key.
import { bytesOfHex, hexOf, utf8 } from "./encoding.js";

const CURVE = { name: "ECDH", namedCurve: "P-256" };
const SUITE = joined(utf8("HPKE"), [0, 0x10, 0, 1, 0, 2]);
const KEM = joined(utf8("KEM"), [0, 0x10]);
const INFO = utf8("turnkey_hpke");
const NOTHING = new Uint8Array();

/** @typedef {{publicKey: string, privateKey: CryptoKey}} TargetKey `publicKey`: uncompressed point, hex; `privateKey`: no script can read it */

/** A new key that others encrypt to. @returns {Promise<TargetKey>} */
export async function makeTargetKey() {
  const pair = await crypto.subtle.generateKey(CURVE, false, ["deriveBits"]);
  return { publicKey: await pointOf(pair.publicKey), privateKey: pair.privateKey };
}

/**
 * Encrypts to a key. @param {Uint8Array} plaintext @param {string} receiver uncompressed point, hex
 * @returns {Promise<{encappedPublic: string, ciphertext: string}>} hex
 */
export async function seal(plaintext, receiver) {
  const sender = await crypto.subtle.generateKey(CURVE, false, ["deriveBits"]);
  const encapped = await pointOf(sender.publicKey);
  const { key, nonce, additional } = await schedule(sender.privateKey, receiver, encapped, receiver, "encrypt");
  const ciphertext = await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce, additionalData: additional }, key, buffer(plaintext));
  return { encappedPublic: encapped, ciphertext: hexOf(new Uint8Array(ciphertext)) };
}

/** Decrypts what was encrypted to this key. @param {TargetKey} target @param {string} encapped point, hex @param {string} ciphertext hex @returns {Promise<Uint8Array>} */
export async function openSealed({ publicKey, privateKey }, encapped, ciphertext) {
  const { key, nonce, additional } = await schedule(privateKey, encapped, encapped, publicKey, "decrypt");
  return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv: nonce, additionalData: additional }, key, buffer(bytesOfHex(ciphertext))));
}

/**
 * Key and nonce of the one message, from the private key of one side and the point of the other.
 * @param {CryptoKey} own @param {string} other @param {string} encapped @param {string} receiver @param {"encrypt" | "decrypt"} use
 */
async function schedule(own, other, encapped, receiver, use) {
  const point = await crypto.subtle.importKey("raw", buffer(bytesOfHex(other)), CURVE, false, []);
  const agreed = new Uint8Array(await crypto.subtle.deriveBits({ name: "ECDH", public: point }, own, 256));
  const additional = buffer(joined(bytesOfHex(encapped), bytesOfHex(receiver)));
  const shared = await expanded(await extracted(KEM, NOTHING, "eae_prk", agreed), KEM, "shared_secret", additional, 32);
  const context = joined([0], await extracted(SUITE, NOTHING, "psk_id_hash", NOTHING), await extracted(SUITE, NOTHING, "info_hash", INFO));
  const secret = await extracted(SUITE, shared, "secret", NOTHING);
  const key = await crypto.subtle.importKey("raw", buffer(await expanded(secret, SUITE, "key", context, 32)), "AES-GCM", false, [use]);
  return { key, nonce: buffer(await expanded(secret, SUITE, "base_nonce", context, 12)), additional };
}

/** LabeledExtract. @param {Uint8Array} suite @param {Uint8Array} salt @param {string} label @param {Uint8Array} material */
function extracted(suite, salt, label, material) {
  return hmac(salt, joined(utf8("HPKE-v1"), suite, utf8(label), material));
}

/** LabeledExpand, of at most 32 bytes. @param {Uint8Array} secret @param {Uint8Array} suite @param {string} label @param {Uint8Array} info @param {number} length */
async function expanded(secret, suite, label, info, length) {
  return (await hmac(secret, joined([0, length], utf8("HPKE-v1"), suite, utf8(label), info, [1]))).slice(0, length);
}

/** HMAC-SHA256; an empty key is the same as one of zeros. @param {Uint8Array} key @param {Uint8Array} data */
async function hmac(key, data) {
  const imported = await crypto.subtle.importKey("raw", buffer(key.length ? key : new Uint8Array(32)), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, buffer(data)));
}

/** @param {CryptoKey} publicKey */
async function pointOf(publicKey) {
  return hexOf(new Uint8Array(await crypto.subtle.exportKey("raw", publicKey)));
}

/** @param {(Uint8Array | number[])[]} parts */
function joined(...parts) {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/** As WebCrypto's types want it. @param {Uint8Array} bytes @returns {Uint8Array<ArrayBuffer>} */
function buffer(bytes) {
  return new Uint8Array(bytes);
}
