// What this browser keeps of a log-in, in IndexedDB: whose it is, and a key that can sign and cannot be read.

/**
 * @typedef {object} StoredLogin
 * @property {string} organizationId
 * @property {import("./keys.js").StampingKey} key
 * @property {"session" | "api-key"} kind `session`: the key expires; `api-key`: it was imported from a file
 * @property {number | null} expiresAtMs
 */

const STORE = "logins";
const CURRENT = "current";

/** @returns {Promise<StoredLogin | undefined>} */
export async function storedLogin() {
  return request("readonly", (store) => store.get(CURRENT));
}

/** @param {StoredLogin} login */
export async function storeLogin(login) {
  await request("readwrite", (store) => store.put(login, CURRENT));
}

export async function forgetLogin() {
  await request("readwrite", (store) => store.delete(CURRENT));
}

/**
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest} ask
 * @returns {Promise<any>}
 */
async function request(mode, ask) {
  const database = await new Promise((resolve, reject) => {
    const opening = indexedDB.open("keystead-console", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const asked = ask(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(asked.result);
      transaction.onerror = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}
