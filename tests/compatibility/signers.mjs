// What the cases of the signers (ethers.mjs, viem.mjs, solana.mjs) share: keys to sign with, a user whose signatures wait, and
// the report, a JSON line per case: {case, error, evidence}. Evidence is what the Python side verifies once more.
import { randomBytes } from "node:crypto";
import { generateP256KeyPair } from "@turnkey/crypto";
import { clients } from "./clients.mjs";

export const root = clients[process.argv[2]]();
const unique = (name) => `${name} ${randomBytes(4).toString("hex")}`;
const submit = async (method, type, parameters) =>
  (await root.submit(method, `ACTIVITY_TYPE_${type}`, parameters)).result;

const ethereum = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
};
const solana = {
  curve: "CURVE_ED25519",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/501'/0'/0'",
  addressFormat: "ADDRESS_FORMAT_SOLANA",
};

// {walletId, addresses}, the addresses of Ethereum and Solana unless asked otherwise
export function newWallet(accounts = [ethereum, solana]) {
  return submit("createWallet", "CREATE_WALLET", { walletName: unique("wallet"), accounts });
}

// {privateKeyId, address}
export async function newPrivateKey() {
  const { curve, addressFormat } = ethereum;
  const key = { privateKeyName: unique("key"), curve, addressFormats: [addressFormat], privateKeyTags: [] };
  const { privateKeys } = await submit("createPrivateKeys", "CREATE_PRIVATE_KEYS_V2", { privateKeys: [key] });
  return { privateKeyId: privateKeys[0].privateKeyId, address: privateKeys[0].addresses[0].address };
}

// The client of a user without rights of her own; `policy`, if any, is made for her.
export async function newUser(policy) {
  const { publicKey, privateKey } = generateP256KeyPair();
  const apiKeys = [{ apiKeyName: unique("key"), publicKey, curveType: "API_KEY_CURVE_P256" }];
  const user = { userName: unique("user"), apiKeys, authenticators: [], oauthProviders: [], userTags: [] };
  const { userIds } = await submit("createUsers", "CREATE_USERS_V4", { users: [user] });
  if (policy) {
    const named = { policyName: unique("policy"), effect: "EFFECT_ALLOW", notes: "", ...policy(userIds[0]) };
    await submit("createPolicy", "CREATE_POLICY_V3", named);
  }
  return root.as({ apiPublicKey: publicKey, apiPrivateKey: privateKey });
}

// She signs when the root user agrees.
export const newUserWhoWaits = () =>
  newUser((id) => ({
    consensus: [id, process.env.KEYSTEAD_USER_ID].map((one) => `approvers.any(user, user.id == '${one}')`).join(" && "),
    condition: "activity.action == 'SIGN'",
  }));

export async function approve({ activityId }) {
  const { activity } = await root.query("getActivity", { activityId });
  const parameters = { fingerprint: activity.fingerprint };
  const envelope = { type: "ACTIVITY_TYPE_APPROVE_ACTIVITY", timestampMs: String(Date.now()), parameters };
  return (await root.query("approveActivity", root.takesEnvelope ? envelope : parameters)).activity;
}

export async function report(cases) {
  const text = (_, value) => (typeof value === "bigint" ? String(value) : value);
  for (const [name, body] of Object.entries(cases)) {
    const held = (evidence = []) => ({ error: null, evidence });
    const failed = (failure) => ({ error: failure.stack, evidence: [] });
    console.log(JSON.stringify({ case: name, ...(await body().then(held, failed)) }, text));
  }
}
