// Secrets on their way between the signer and this browser, in bundles that the server signs and nobody else can read.
import { bytesOfHex, rawOf, utf8 } from "./encoding.js";
import { openSealed, seal } from "./hpke.js";

const SIGNING = { name: "ECDSA", namedCurve: "P-256" };

/** The key that signs the bundles of this server, as it says itself. @returns {Promise<string>} uncompressed point, hex */
async function bundleSigner() {
  const answer = await fetch("/bundle-signer");
  if (!answer.ok) throw new Error(`the server did not name the key that signs bundles: ${answer.status}`);
  return (await answer.json()).signingPublicKey;
}

/**
 * The content of a bundle, once its signature and its ids are checked.
 * @param {string} bundle JSON text @param {string} signer @param {Record<string, string>} expected members that it must have
 * @returns {Promise<any>}
 */
export async function trusted(bundle, signer, expected) {
  const { version, data, dataSignature, enclaveQuorumPublic } = JSON.parse(bundle);
  if (version !== "v1.0.0" || enclaveQuorumPublic !== signer) throw new Error("The bundle is signed by another key than that of this server.");
  const key = await crypto.subtle.importKey("raw", bytesOfHex(signer), SIGNING, false, ["verify"]);
  const isSigned = await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, rawOf(bytesOfHex(dataSignature)), bytesOfHex(data));
  if (!isSigned) throw new Error("The signature of the bundle does not hold.");
  const content = JSON.parse(new TextDecoder().decode(bytesOfHex(data)));
  for (const [name, value] of Object.entries(expected)) {
    if (content[name] !== value) throw new Error(`The bundle is of another ${name}.`);
  }
  return content;
}

/** What was exported to this key. @param {string} bundle @param {string} organizationId @param {import("./hpke.js").TargetKey} target @returns {Promise<Uint8Array>} */
export async function exportedIn(bundle, organizationId, target) {
  const { encappedPublic, ciphertext } = await trusted(bundle, await bundleSigner(), { organizationId });
  return openSealed(target, encappedPublic, ciphertext);
}

/** A text, encrypted to the key in the answer to init_import_wallet. @param {string} bundle @param {{organizationId: string, userId: string}} who @param {string} text */
export async function sealedForImport(bundle, { organizationId, userId }, text) {
  const { targetPublic } = await trusted(bundle, await bundleSigner(), { organizationId, userId });
  return JSON.stringify(await seal(utf8(text), targetPublic));
}
