// Accounts and keys that sign: what people call them, and how they are found among very many.
import { shortened, valueInWords } from "../words.js";
import { listed, query } from "./calls.js";

const PAGE = 100;
const WALLETS_MAX = 5;

/** @typedef {{signWith: string, name: string, what: string, format: string, curve: string}} Signing `signWith`: as the API names it */

/** The first accounts of all wallets, and private keys; `isAll`: there are no others. @returns {Promise<{found: Signing[], isAll: boolean}>} */
export async function firstAccounts() {
  const [{ accounts }, { privateKeys }, { wallets }] = await Promise.all([
    query("list_wallet_accounts", { paginationOptions: { limit: String(PAGE) } }), listed("list_private_keys"), listed("list_wallets")]);
  const keys = privateKeys.slice(0, PAGE).map(ofPrivateKey);
  return { found: [...accounts.map(ofAccount(wallets)), ...keys], isAll: accounts.length < PAGE && privateKeys.length <= PAGE };
}

/** Accounts of wallets, and private keys, whose names have these words; beyond the first ones. @param {string[]} words @returns {Promise<Signing[]>} */
export async function accountsCalled(words) {
  const [{ wallets }, { privateKeys }] = await Promise.all([listed("list_wallets"), listed("list_private_keys")]);
  const isCalled = (/** @type {string} */ name) => words.every((word) => name.toLowerCase().includes(word));
  const named = wallets.filter((/** @type {any} */ wallet) => isCalled(wallet.walletName)).slice(0, WALLETS_MAX);
  const pages = await Promise.all(named.map((/** @type {any} */ { walletId }) => query("list_wallet_accounts", { walletId, paginationOptions: { limit: String(PAGE) } })));
  const keys = privateKeys.filter((/** @type {any} */ key) => isCalled(key.privateKeyName)).slice(0, PAGE);
  return [...pages.flatMap(({ accounts }) => accounts.map(ofAccount(wallets))), ...keys.map(ofPrivateKey)];
}

/** Whether a text may be an address. @param {string} text */
export function isLikeAddress(text) {
  return /^[0-9a-zA-Z:]{26,}$/.test(text);
}

/** @param {string} address that is in none of the lists that were read @returns {Signing} */
export function ofAddress(address) {
  const isEthereum = /^0x[0-9a-f]{40}$/i.test(address);
  return { signWith: address, name: shortened(address), what: "An address of this organization", format: isEthereum ? "ADDRESS_FORMAT_ETHEREUM" : "", curve: isEthereum ? "CURVE_SECP256K1" : "" };
}

/** @param {any[]} wallets @returns {(account: any) => Signing} */
function ofAccount(wallets) {
  const names = new Map(wallets.map((wallet) => [wallet.walletId, wallet.walletName]));
  return ({ address, name, walletId, addressFormat, curve }) => ({
    signWith: address, name: name ?? names.get(walletId) ?? "Account", format: addressFormat, curve,
    what: [name ? names.get(walletId) : "", valueInWords(addressFormat, "ADDRESS_FORMAT_"), shortened(address)].filter(Boolean).join(" · "),
  });
}

/** @param {any} key @returns {Signing} */
function ofPrivateKey({ privateKeyId, privateKeyName, curve, addresses }) {
  const [first] = addresses;
  return { signWith: privateKeyId, name: privateKeyName, format: first?.format ?? "", curve, what: ["Private key", first ? `${valueInWords(first.format, "ADDRESS_FORMAT_")} · ${shortened(first.address)}` : valueInWords(curve, "CURVE_")].join(" · ") };
}
