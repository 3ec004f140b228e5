// P-256 keys that stamp requests. The private half is a WebCrypto key that no script can read.
import { base64urlOf, bytesOfBase64url, bytesOfHex, derOf, hexOf, utf8 } from "./encoding.js";

/** @typedef {{publicKey: string, privateKey: CryptoKey}} StampingKey `publicKey`: compressed point, hex */

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" };
const PRIME = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;

/** A new key of this browser. @returns {Promise<StampingKey>} */
export async function makeKey() {
  const pair = await crypto.subtle.generateKey(ALGORITHM, false, ["sign", "verify"]);
  return { publicKey: await compressed(pair.publicKey), privateKey: pair.privateKey };
}

/**
 * Both halves of a new key, for somebody else: the private one as hex.
 * @returns {Promise<{publicKey: string, privateKey: string}>}
 */
export async function makeKeyToHandOver() {
  const pair = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const { d } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  return { publicKey: await compressed(pair.publicKey), privateKey: hexOf(bytesOfBase64url(String(d))) };
}

/**
 * Imports an API key so that it can sign and cannot be read back.
 * @param {string} publicKey compressed point, hex
 * @param {string} privateKey 32 bytes, hex
 * @returns {Promise<StampingKey>}
 */
export async function importKey(publicKey, privateKey) {
  const [x, y] = decompressed(publicKey);
  const secret = bytesOfHex(privateKey);
  if (secret.length !== 32) throw new Error("the private key must have 64 hex digits");
  const jwk = { kty: "EC", crv: "P-256", x: base64urlOf(x), y: base64urlOf(y), d: base64urlOf(secret) };
  let imported;
  try {
    imported = await crypto.subtle.importKey("jwk", jwk, ALGORITHM, false, ["sign"]);
  } catch {
    throw new Error("the private key does not belong to the public key");
  }
  return { publicKey: publicKey.toLowerCase(), privateKey: imported };
}

/**
 * The header X-Stamp of a request with this body.
 * @param {StampingKey} key
 * @param {string} body
 * @returns {Promise<Record<string, string>>}
 */
export async function stampByKey(key, body) {
  const signed = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key.privateKey, utf8(body));
  const stamp = {
    publicKey: key.publicKey,
    scheme: "SIGNATURE_SCHEME_TK_API_P256",
    signature: hexOf(derOf(new Uint8Array(signed))),
  };
  return { "X-Stamp": base64urlOf(utf8(JSON.stringify(stamp))) };
}

/** @param {CryptoKey} publicKey */
async function compressed(publicKey) {
  const point = new Uint8Array(await crypto.subtle.exportKey("raw", publicKey));
  return (point[64] % 2 ? "03" : "02") + hexOf(point.slice(1, 33));
}

/** The coordinates of a compressed point. @param {string} publicKey */
function decompressed(publicKey) {
  if (!/^0[23][0-9a-f]{64}$/i.test(publicKey)) {
    throw new Error("the public key must be a compressed P-256 point: 66 hex digits that begin with 02 or 03");
  }
  const x = BigInt(`0x${publicKey.slice(2)}`);
  // p is 3 modulo 4, so this power is a square root if there is one.
  const root = power((x ** 3n - 3n * x + B) % PRIME, (PRIME + 1n) / 4n);
  if ((root * root - (x ** 3n - 3n * x + B)) % PRIME !== 0n) throw new Error("the public key is not a point of P-256");
  const isOdd = publicKey[1] === "3";
  const y = (root % 2n === 1n) === isOdd ? root : PRIME - root;
  return [x, y].map((number) => bytesOfHex(number.toString(16).padStart(64, "0")));
}

/** @param {bigint} base @param {bigint} exponent */
function power(base, exponent) {
  let result = 1n;
  for (let factor = ((base % PRIME) + PRIME) % PRIME; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * factor) % PRIME;
    factor = (factor * factor) % PRIME;
  }
  return result;
}
