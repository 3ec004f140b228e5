// An activity that waits for the person who is logged in, to try an approval with: somebody else asks for a payment.
import { makeKey, stampByKey } from "../session/keys.js";
import { current } from "../session/session.js";
import { query, submit } from "./calls.js";
import { send } from "./request.js";

/** 0.05 ETH on a local chain (id 31337) to the second account of its public test mnemonic, not signed yet. */
const PAYMENT = "02f1827a6980843b9aca008504a817c8008252089470997970c51812dc3a010c7d01b50e0d17dc79c887b1a2bc2ec5000080c0";

/** Makes a user, a policy and the request of that user. @returns {Promise<string>} the activity's id */
export async function askForPayment() {
  const address = await anAddress();
  const { organizationId, userId } = current();
  const key = await makeKey();
  const number = crypto.getRandomValues(new Uint16Array(1))[0];
  const made = await submit("create_users", "ACTIVITY_TYPE_CREATE_USERS_V4", {
    users: [{ userName: `Payments ${number}`, userTags: [], authenticators: [], oauthProviders: [],
      apiKeys: [{ apiKeyName: "Example key", publicKey: key.publicKey, curveType: "API_KEY_CURVE_P256" }] }],
  });
  const askerId = made.result.createUsersResult.userIds[0];
  await submit("create_policy", "ACTIVITY_TYPE_CREATE_POLICY_V3", {
    policyName: `Payments ${number} need an approval`,
    effect: "EFFECT_ALLOW",
    condition: "activity.kind == 'SIGN_TRANSACTION' && eth.tx.value <= 100000000000000000",
    consensus: `approvers.any(user, user.id == '${askerId}') && approvers.any(user, user.id == '${userId}')`,
    notes: "An example of the console: up to 0.1 ETH, once you approve.",
  });
  const body = JSON.stringify({
    type: "ACTIVITY_TYPE_SIGN_TRANSACTION_V2",
    timestampMs: String(Date.now()),
    organizationId,
    parameters: { signWith: address, unsignedTransaction: PAYMENT, type: "TRANSACTION_TYPE_ETHEREUM" },
  });
  return (await send("/public/v1/submit/sign_transaction", body, await stampByKey(key, body))).activity.id;
}

/** An Ethereum address of the organization. */
async function anAddress() {
  const { accounts } = await query("list_wallet_accounts", { paginationOptions: { limit: "100" } });
  const account = accounts.find((/** @type {any} */ each) => each.addressFormat === "ADDRESS_FORMAT_ETHEREUM");
  if (!account) throw new Error("there is no Ethereum account to pay from: create a wallet with one first");
  return account.address;
}
