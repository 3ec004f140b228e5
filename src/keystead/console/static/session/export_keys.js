// The keys of this browser that wallets and keys are exported to, until what was exported is shown: in IndexedDB.
import { stored } from "./stored.js";

const STORE = "exports";

/** @param {import("./hpke.js").TargetKey} target */
export async function keepExportKey(target) {
  await stored(STORE, "readwrite", (store) => store.put(target, target.publicKey));
}

/** @param {string} publicKey @returns {Promise<import("./hpke.js").TargetKey | undefined>} undefined where this browser does not have it */
export async function exportKey(publicKey) {
  return stored(STORE, "readonly", (store) => store.get(publicKey));
}

/** @param {string} publicKey */
export async function forgetExportKey(publicKey) {
  await stored(STORE, "readwrite", (store) => store.delete(publicKey));
}
