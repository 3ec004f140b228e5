// From a JSON Schema of the catalogue to the first value of a form, and from a form's value to parameters. Pure.
import { resolvedIn } from "./catalogue.js";

/** @typedef {Record<string, any>} Schemas all schemas of the catalogue, by name */

/**
 * What a schema takes, without its reference and without null.
 * @param {any} schema
 * @param {Schemas} all
 * @returns {any}
 */
export function plain(schema, all) {
  const inner = resolvedIn(schema, all);
  const given = inner.anyOf?.filter((/** @type {any} */ each) => each.type !== "null");
  return given ? plain(given[0], all) : inner;
}

/** Ready-made accounts: what most people mean by an address of a chain. */
export const ACCOUNTS = {
  Ethereum: account("CURVE_SECP256K1", "m/44'/60'/0'/0/0", "ADDRESS_FORMAT_ETHEREUM"),
  Solana: account("CURVE_ED25519", "m/44'/501'/0'/0'", "ADDRESS_FORMAT_SOLANA"),
  Bitcoin: account("CURVE_SECP256K1", "m/84'/0'/0'/0/0", "ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH"),
  Tron: account("CURVE_SECP256K1", "m/44'/195'/0'/0/0", "ADDRESS_FORMAT_TRON"),
};

/** @param {string} curve @param {string} path @param {string} addressFormat */
function account(curve, path, addressFormat) {
  return { curve, pathFormat: "PATH_FORMAT_BIP32", path, addressFormat };
}

/**
 * The value that a form begins with: required parts are there, optional ones are left out.
 * @param {any} schema @param {Schemas} all @returns {any}
 */
export function emptyOf(schema, all) {
  const inner = plain(schema, all);
  if (inner.title === "WalletAccountParams") return { ...ACCOUNTS.Ethereum };
  if (inner.type === "array") return (inner.minItems || isOfObjects(inner, all)) && !isCredentials(inner, all) ? [emptyOf(inner.items, all)] : [];
  if (inner.type !== "object" || !inner.properties) return inner.type === "boolean" ? false : "";
  const required = new Set(inner.required ?? []);
  return Object.fromEntries(Object.entries(inner.properties).filter(([name]) => required.has(name)).map(([name, part]) => [name, emptyOf(part, all)]));
}

/** @param {any} schema @param {Schemas} all */
function isOfObjects(schema, all) {
  return plain(schema.items, all).type === "object";
}

/** Lists of credentials are often empty. @param {any} schema @param {Schemas} all */
function isCredentials(schema, all) {
  return !schema.minItems && /^(ApiKeyParams|AuthenticatorParams|OauthProviderParams)/.test(plain(schema.items, all).title ?? "");
}

/**
 * The same with the fields that the address names; a list is written with commas.
 * @param {any} schema @param {Schemas} all @param {URLSearchParams} given
 */
export function prefilled(schema, all, given) {
  const value = emptyOf(schema, all);
  for (const [name, part] of Object.entries(plain(schema, all).properties ?? {})) {
    const text = given.get(name);
    if (text === null) continue;
    value[name] = plain(part, all).type === "array" ? text.split(",").filter(Boolean) : text;
  }
  return value;
}

/**
 * The parameters that a form's value stands for: what is left empty and is optional is left out.
 * @param {any} schema @param {Schemas} all @param {any} value @returns {any}
 */
export function parametersOf(schema, all, value) {
  const inner = plain(schema, all);
  if (inner.type === "array") return value.map((/** @type {any} */ item) => parametersOf(inner.items, all, item));
  if (inner.type === "object" && inner.properties) {
    const required = new Set(inner.required ?? []);
    const given = Object.entries(inner.properties).filter(([name]) => value[name] !== undefined && (required.has(name) || value[name] !== ""));
    return Object.fromEntries(given.map(([name, part]) => [name, parametersOf(part, all, value[name])]));
  }
  if ((inner.type === "integer" || inner.type === "number") && value !== "") return Number(value);
  return value;
}
