// What this browser keeps of a log-in, in IndexedDB: whose it is, and a key that can sign and cannot be read. And of
// one that was begun at an issuer, until the person comes back.

/**
 * @typedef {object} StoredLogin
 * @property {string} organizationId
 * @property {import("./keys.js").StampingKey} key
 * @property {"session" | "api-key"} kind `session`: the key expires; `api-key`: it was imported from a file
 * @property {number | null} expiresAtMs
 */

const LOGINS = "logins";

/** The database of each object store. */
const DATABASES = { logins: "keystead-console", exports: "keystead-exports" };

const [CURRENT, BEGUN] = ["current", "begun"];

/**
 * @typedef {object} BegunLogin
 * @property {import("./keys.js").StampingKey | null} key of the session that will be; null: the identity is to be added to the
 *   person who is logged in
 * @property {string} organizationId "" if the identity finds it
 * @property {string} name of the issuer
 * @property {string} state that the issuer gives back
 * @property {string} address where the person was
 */

/** @returns {Promise<StoredLogin | undefined>} */
export async function storedLogin() {
  return stored(LOGINS, "readonly", (store) => store.get(CURRENT));
}

/** @param {StoredLogin} login */
export async function storeLogin(login) {
  await stored(LOGINS, "readwrite", (store) => store.put(login, CURRENT));
}

export async function forgetLogin() {
  await stored(LOGINS, "readwrite", (store) => store.delete(CURRENT));
}

/** @param {BegunLogin} login */
export async function storeBegunLogin(login) {
  await stored(LOGINS, "readwrite", (store) => store.put(login, BEGUN));
}

/** The log-in that was begun, once. @returns {Promise<BegunLogin | undefined>} */
export async function takeBegunLogin() {
  const login = await stored(LOGINS, "readonly", (store) => store.get(BEGUN));
  await stored(LOGINS, "readwrite", (store) => store.delete(BEGUN));
  return login;
}

/**
 * @param {keyof typeof DATABASES} name of the object store
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest} ask
 * @returns {Promise<any>}
 */
export async function stored(name, mode, ask) {
  const database = await new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASES[name], 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(name);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(name, mode);
      const asked = ask(transaction.objectStore(name));
      transaction.oncomplete = () => resolve(asked.result);
      transaction.onerror = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}
