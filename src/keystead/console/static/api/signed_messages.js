// The forms in which messages are signed: what the key signs, and how its signature is written. Pure.

const SECP256K1 = "CURVE_SECP256K1";

/** @typedef {import("./accounts.js").Signing} Signing */
/** @typedef {{r: string, s: string, v: string}} Signed as the API answers it */

/**
 * @typedef {object} Form
 * @property {string} name
 * @property {string} hint
 * @property {(account: Signing) => boolean} fits
 * @property {(text: string) => {payload: string, encoding: string, hashFunction: string}} payload
 * @property {(signed: Signed) => string} signature
 */

/** @type {Form[]} the usual one of an account comes first */
export const FORMS = [
  { name: "Message", hint: "As Ethereum wallets sign it (EIP-191). Any wallet library can verify it.", fits: ({ format }) => format === "ADDRESS_FORMAT_ETHEREUM", payload: (text) => prefixed("Ethereum", text), signature: recoverable },
  { name: "Message", hint: "As Tron wallets sign it (TIP-191).", fits: ({ format }) => format === "ADDRESS_FORMAT_TRON", payload: (text) => prefixed("TRON", text), signature: recoverable },
  { name: "Typed data", hint: "JSON with types, primaryType, domain and message (EIP-712).", fits: ({ format }) => format === "ADDRESS_FORMAT_ETHEREUM", payload: (text) => ({ payload: text, encoding: "PAYLOAD_ENCODING_EIP712", hashFunction: "HASH_FUNCTION_NO_OP" }), signature: recoverable },
  { name: "Message", hint: "The text as it is; Ed25519 hashes it itself.", fits: ({ curve }) => curve === "CURVE_ED25519", payload: (text) => plain(text, "HASH_FUNCTION_NOT_APPLICABLE"), signature: joined },
  { name: "Text, SHA-256", hint: "The SHA-256 digest of the text as it is.", fits: ({ curve }) => curve !== "CURVE_ED25519", payload: (text) => plain(text, "HASH_FUNCTION_SHA256"), signature: joined },
  { name: "Text, Keccak-256", hint: "The Keccak-256 digest of the text as it is, without a prefix.", fits: ({ curve }) => curve === SECP256K1, payload: (text) => plain(text, "HASH_FUNCTION_KECCAK256"), signature: recoverable },
];

/** @param {string} text @param {string} hashFunction */
function plain(text, hashFunction) {
  return { payload: text, encoding: "PAYLOAD_ENCODING_TEXT_UTF8", hashFunction };
}

/** With the words that keep a message from being a transaction. @param {string} chain @param {string} text */
function prefixed(chain, text) {
  return plain(`\x19${chain} Signed Message:\n${new TextEncoder().encode(text).length}${text}`, "HASH_FUNCTION_KECCAK256");
}

/** The parts of a signature, and the whole as those who verify it usually want it. @param {Signed} signed @param {string} signWith */
export function withSignature(signed, signWith) {
  return { signature: /^0x[0-9a-f]{40}$/i.test(signWith) ? recoverable(signed) : joined(signed), ...signed };
}

/** r, s, and 27 or 28. @param {Signed} signed */
function recoverable({ r, s, v }) {
  return `0x${r}${s}${(27 + parseInt(v, 16)).toString(16)}`;
}

/** @param {Signed} signed */
function joined({ r, s }) {
  return `${r}${s}`;
}
