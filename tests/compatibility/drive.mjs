// node drive.mjs CLIENT: what an application does with one published client, against a live server.
// Prints a JSON line per case: {case, error}, error null when it held. Later cases use what earlier ones made.
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { generateP256KeyPair, verifyAppProofSignature } from "@turnkey/crypto";
import { clients, organizationId } from "./clients.mjs";
import * as shapes from "./shapes.mjs";

const client = clients[process.argv[2]]();
const passkey = JSON.parse(process.env.KEYSTEAD_PASSKEY); // {challenge, attestation}, made by the Python side, as is the ID token
const erc20 = readFileSync(new URL("erc20.json", import.meta.url), "utf8");
const made = {}; // ids and keys, by name
const unique = (name) => `${name} ${randomBytes(4).toString("hex")}`;

const newKey = () => {
  const { publicKey, privateKey } = generateP256KeyPair();
  return { apiPublicKey: publicKey, apiPrivateKey: privateKey };
};
const apiKeyParameters = ({ apiPublicKey }) => ({
  apiKeyName: unique("key"),
  publicKey: apiPublicKey,
  curveType: "API_KEY_CURVE_P256",
});
const contractParameters = () => ({
  smartContractAddress: `0x${randomBytes(20).toString("hex")}`,
  smartContractInterface: erc20,
  type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
  label: unique("ERC-20"),
  notes: "made by a published client",
});
const walletParameters = () => ({
  walletName: unique("wallet"),
  accounts: [
    {
      curve: "CURVE_SECP256K1",
      pathFormat: "PATH_FORMAT_BIP32",
      path: "m/44'/60'/0'/0/0",
      addressFormat: "ADDRESS_FORMAT_ETHEREUM",
    },
    {
      curve: "CURVE_ED25519",
      pathFormat: "PATH_FORMAT_BIP32",
      path: "m/44'/501'/0'/0'",
      addressFormat: "ADDRESS_FORMAT_SOLANA",
    },
  ],
});
const isEthereumAddress = (address) => assert.match(address, /^0x[0-9a-fA-F]{40}$/);
const isSolanaAddress = (address) => assert.match(address, /^[1-9A-HJ-NP-Za-km-z]{32,44}$/);

async function submit(method, type, parameters, envelope) {
  const { activity, result } = await client.submit(method, `ACTIVITY_TYPE_${type}`, parameters, envelope);
  assertActivity(activity, `ACTIVITY_TYPE_${type}`);
  return { activity, result };
}

function assertActivity(activity, type) {
  shapes.assertShape(activity, shapes.activity, "activity");
  assert.equal(activity.type, type);
  assert.equal(activity.organizationId, organizationId);
  assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
  for (const name of ["createdAt", "updatedAt"]) {
    if (client.activityTimes === "object") shapes.assertShape(activity[name], shapes.timestamp, name);
    else assert.ok(!Number.isNaN(Date.parse(activity[name])), `${name}: ${JSON.stringify(activity[name])}`);
  }
}

function assertOneHas(list, member, value) {
  assert.equal(list.filter((item) => item[member] === value).length, 1, `one ${member} ${value}`);
}

// The error type of all three clients carries the gRPC code, our message and our details.
async function assertRefused(request, { code, message, machineCode }) {
  await assert.rejects(request, (error) => {
    assert.equal(error.name, "TurnkeyRequestError", error.stack);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, new RegExp(`^Turnkey error ${code}: .*${message}`, "s"));
    assert.ok(Array.isArray(error.details), `details: ${JSON.stringify(error.details)}`);
    if (machineCode !== undefined) assert.equal(error.details[0]?.turnkeyErrorCode, machineCode);
    return true;
  });
}

const cases = {
  async whoami() {
    const answer = await client.query("getWhoami");
    shapes.assertShape(answer, shapes.whoami);
    assert.equal(answer.organizationId, organizationId);
    made.ownUserId = answer.userId;
  },

  async get_user() {
    const { user } = await client.query("getUser", { userId: made.ownUserId });
    shapes.assertShape(user, shapes.user, "user");
    assert.equal(user.userId, made.ownUserId);
  },

  async create_users() {
    const userName = unique("user");
    made.userKey = newKey();
    const apiKeys = [apiKeyParameters(made.userKey)];
    const user = { userName, apiKeys, authenticators: [], oauthProviders: [], userTags: [] };
    const { result } = await submit("createUsers", "CREATE_USERS_V4", { users: [user] });
    [made.userId] = result.userIds;
    const answer = await client.query("getUser", { userId: made.userId });
    shapes.assertShape(answer.user, shapes.user, "user");
    assert.equal(answer.user.userName, userName);
    assert.equal(answer.user.apiKeys[0].credential.publicKey, made.userKey.apiPublicKey);
  },

  async list_users() {
    const { users } = await client.query("getUsers");
    shapes.assertShape(users, [shapes.user], "users");
    assertOneHas(users, "userId", made.ownUserId);
    assertOneHas(users, "userId", made.userId);
  },

  async the_new_key_stamps() {
    const answer = await client.as(made.userKey).query("getWhoami");
    assert.equal(answer.userId, made.userId);
  },

  async create_api_keys() {
    const apiKey = { ...apiKeyParameters(newKey()), expirationSeconds: "3600" };
    const parameters = { userId: made.userId, apiKeys: [apiKey] };
    const { result } = await submit("createApiKeys", "CREATE_API_KEYS_V2", parameters);
    const { apiKeys } = await client.query("getApiKeys", { userId: made.userId });
    shapes.assertShape(apiKeys, [shapes.apiKey], "apiKeys");
    const created = apiKeys.find((key) => key.apiKeyId === result.apiKeyIds[0]);
    assert.equal(created.expirationSeconds, "3600");
    assert.equal(created.credential.type, "CREDENTIAL_TYPE_API_KEY_P256");
  },

  async create_user_tag() {
    const parameters = { userTagName: unique("tag"), userIds: [made.userId] };
    const { result } = await submit("createUserTag", "CREATE_USER_TAG", parameters);
    assert.deepEqual(result.userIds, [made.userId]);
    const { user } = await client.query("getUser", { userId: made.userId });
    assert.deepEqual(user.userTags, [result.userTagId]);
  },

  async create_authenticators() {
    const authenticator = { authenticatorName: unique("passkey"), ...passkey };
    const parameters = { userId: made.userId, authenticators: [authenticator] };
    const { result } = await submit("createAuthenticators", "CREATE_AUTHENTICATORS_V2", parameters);
    [made.authenticatorId] = result.authenticatorIds;
  },

  async get_authenticator() {
    const { authenticator } = await client.query("getAuthenticator", { authenticatorId: made.authenticatorId });
    shapes.assertShape(authenticator, shapes.authenticator, "authenticator");
    assert.equal(authenticator.authenticatorId, made.authenticatorId);
    assert.equal(authenticator.credentialId, passkey.attestation.credentialId);
    assert.equal(authenticator.credential.type, "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR");
  },

  async create_oauth_providers() {
    const oidcToken = process.env.KEYSTEAD_OIDC_TOKEN;
    const { iss, sub, aud } = JSON.parse(Buffer.from(oidcToken.split(".")[1], "base64url"));
    // Claims count beside a token of the same issuer and subject: a second audience of one identity.
    const byToken = { providerName: unique("provider"), oidcToken };
    const byClaims = { providerName: unique("provider"), oidcClaims: { iss, sub, aud: "keystead-tests" } };
    const parameters = { userId: made.userId, oauthProviders: [byToken, byClaims] };
    const { result } = await submit("createOauthProviders", "CREATE_OAUTH_PROVIDERS_V2", parameters);
    const { oauthProviders } = await client.query("getOauthProviders", { userId: made.userId });
    shapes.assertShape(oauthProviders, [shapes.oauthProvider], "oauthProviders");
    const created = result.providerIds.map((id) => oauthProviders.find(({ providerId }) => providerId === id));
    assert.deepEqual(
      created.map(({ issuer, subject, audience }) => [issuer, subject, audience]),
      [
        [iss, sub, aud],
        [iss, sub, "keystead-tests"],
      ],
    );
    await assertRefused(submit("createOauthProviders", "CREATE_OAUTH_PROVIDERS_V2", parameters), {
      code: 6,
      message: "oauth provider already exists",
      machineCode: "OAUTH_PROVIDER_ALREADY_EXISTS",
    });
  },

  async create_mfa_policy() {
    const thatPasskey = { type: "AUTHENTICATION_TYPE_PASSKEY", id: made.authenticatorId };
    const anyApiKey = { type: "AUTHENTICATION_TYPE_API_KEY" };
    const parameters = {
      userId: made.userId,
      mfaPolicyName: unique("policy"),
      condition: "activity.type == 'ACTIVITY_TYPE_EXPORT_WALLET'",
      requiredAuthenticationMethods: [{ any: [thatPasskey, anyApiKey] }],
      order: 0,
    };
    const { result } = await submit("createMfaPolicy", "CREATE_MFA_POLICY", parameters);
    const { mfaPolicies } = await client.query("getMfaPolicies", { userId: made.userId });
    shapes.assertShape(mfaPolicies, [shapes.mfaPolicy], "mfaPolicies");
    assertOneHas(mfaPolicies, "mfaPolicyId", result.mfaPolicyId);
  },

  async create_wallet() {
    const { result } = await submit("createWallet", "CREATE_WALLET", walletParameters());
    made.walletId = result.walletId;
    made.addresses = result.addresses;
    assert.equal(result.addresses.length, 2);
    isEthereumAddress(result.addresses[0]);
    isSolanaAddress(result.addresses[1]);
  },

  async get_wallet() {
    const { wallet } = await client.query("getWallet", { walletId: made.walletId });
    shapes.assertShape(wallet, shapes.wallet, "wallet");
    assert.equal(wallet.walletId, made.walletId);
  },

  async list_wallets() {
    const { wallets } = await client.query("getWallets");
    shapes.assertShape(wallets, [shapes.wallet], "wallets");
    assertOneHas(wallets, "walletId", made.walletId);
  },

  async list_wallet_accounts() {
    const { accounts } = await client.query("getWalletAccounts", { walletId: made.walletId });
    shapes.assertShape(accounts, [shapes.walletAccount], "accounts");
    assert.deepEqual(accounts.map((account) => account.address).sort(), [...made.addresses].sort());
  },

  async create_smart_contract_interface() {
    made.contract = contractParameters();
    const { activity, result } = await submit(
      "createSmartContractInterface",
      "CREATE_SMART_CONTRACT_INTERFACE",
      made.contract,
    );
    assert.deepEqual(activity.intent.createSmartContractInterfaceIntent, made.contract);
    made.interfaceId = result.smartContractInterfaceId;
    made.activityId = activity.id;
  },

  async get_smart_contract_interface() {
    const answer = await client.query("getSmartContractInterface", { smartContractInterfaceId: made.interfaceId });
    shapes.assertShape(answer.smartContractInterface, shapes.smartContractInterface, "smartContractInterface");
    assert.equal(answer.smartContractInterface.smartContractInterface, erc20);
  },

  async list_smart_contract_interfaces() {
    const { smartContractInterfaces } = await client.query("getSmartContractInterfaces");
    shapes.assertShape(smartContractInterfaces, [shapes.smartContractInterface], "smartContractInterfaces");
    assertOneHas(smartContractInterfaces, "smartContractInterfaceId", made.interfaceId);
  },

  async get_activity() {
    const { activity } = await client.query("getActivity", { activityId: made.activityId });
    assertActivity(activity, "ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE");
    assert.equal(activity.id, made.activityId);
  },

  async list_activities() {
    const type = "ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE";
    const filters = { filterByType: [type], filterByStatus: ["ACTIVITY_STATUS_COMPLETED"] };
    const { activities } = await client.query("getActivities", { ...filters, paginationOptions: { limit: "100" } });
    activities.forEach((activity) => assertActivity(activity, type));
    assertOneHas(activities, "id", made.activityId);
  },

  async unknown_authenticator() {
    const authenticatorId = randomUUID();
    await assertRefused(client.query("getAuthenticator", { authenticatorId }), { code: 5, message: authenticatorId });
  },

  async bad_contract_interface() {
    const parameters = { ...contractParameters(), smartContractInterface: "no ABI" };
    await assertRefused(submit("createSmartContractInterface", "CREATE_SMART_CONTRACT_INTERFACE", parameters), {
      code: 3,
      message: "smartContractInterface",
      machineCode: "REQUEST_INVALID",
    });
  },

  async unregistered_key() {
    const stranger = newKey();
    await assertRefused(client.as(stranger).query("getWallets"), {
      code: 16,
      message: `could not find public key in organization .*${stranger.apiPublicKey}`,
      machineCode: "PUBLIC_KEY_NOT_FOUND",
    });
  },

  async unknown_organization() {
    const elsewhere = randomUUID();
    await assertRefused(client.query("getUsers", { organizationId: elsewhere }), { code: 5, message: elsewhere });
  },
};

// sdk-server builds the envelope itself and has no place for this member of it.
if (client.takesEnvelope) {
  cases.app_proofs = async () => {
    const asked = { generateAppProofs: true };
    const { activity } = await submit("createWallet", "CREATE_WALLET", walletParameters(), asked);
    const { appProofs } = await client.query("getAppProofs", { activityId: activity.id });
    for (const proofs of [activity.appProofs, appProofs]) {
      proofs.forEach(verifyAppProofSignature);
      const types = proofs.map((proof) => JSON.parse(proof.proofPayload).type).sort();
      const derivation = "APP_PROOF_TYPE_ADDRESS_DERIVATION";
      assert.deepEqual(types, [derivation, derivation, "APP_PROOF_TYPE_POLICY_OUTCOME"]);
    }
  };
}

for (const [name, body] of Object.entries(cases)) {
  const error = await body().then(() => null, (failure) => failure.stack);
  console.log(JSON.stringify({ case: name, error }));
}
