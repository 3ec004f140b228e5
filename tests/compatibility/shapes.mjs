// The records as the published type definitions promise them: a predicate for each field, lists as [item].
import assert from "node:assert/strict";

const text = (value) => typeof value === "string";
const flag = (value) => typeof value === "boolean";
const count = (value) => Number.isInteger(value);
const digits = (value) => text(value) && /^\d+$/.test(value);
const uuid = (value) => text(value) && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
const optional = (predicate) => (value) => value === undefined || predicate(value);
const oneOf = (start) => (value) => text(value) && value.startsWith(start);

export const timestamp = { seconds: digits, nanos: digits };
const times = { createdAt: timestamp, updatedAt: timestamp };
const credential = { publicKey: text, type: oneOf("CREDENTIAL_TYPE_"), sessionProfileId: optional(text) };

export const whoami = { organizationId: uuid, organizationName: text, userId: uuid, username: text };
export const apiKey = { apiKeyId: uuid, apiKeyName: text, credential, expirationSeconds: optional(text), ...times };
export const authenticator = {
  authenticatorId: uuid,
  authenticatorName: text,
  transports: [oneOf("AUTHENTICATOR_TRANSPORT_")],
  attestationType: text,
  aaguid: text,
  credentialId: text,
  model: text,
  credential,
  ...times,
};
export const oauthProvider = {
  providerId: uuid,
  providerName: text,
  issuer: text,
  audience: text,
  subject: text,
  ...times,
};
export const mfaPolicy = {
  mfaPolicyId: uuid,
  mfaPolicyName: text,
  condition: text,
  requiredAuthenticationMethods: [{ any: [{ type: oneOf("AUTHENTICATION_TYPE_"), id: optional(text) }] }],
  order: count,
  notes: optional(text),
  ...times,
};
export const user = {
  userId: uuid,
  userName: text,
  userEmail: optional(text),
  userPhoneNumber: optional(text),
  authenticators: [authenticator],
  apiKeys: [apiKey],
  userTags: [uuid],
  oauthProviders: [oauthProvider],
  mfaPolicies: [mfaPolicy],
  ...times,
};
export const wallet = { walletId: uuid, walletName: text, exported: flag, imported: flag, ...times };
export const walletAccount = {
  walletAccountId: uuid,
  organizationId: uuid,
  walletId: uuid,
  curve: oneOf("CURVE_"),
  pathFormat: oneOf("PATH_FORMAT_"),
  path: oneOf("m/"),
  addressFormat: oneOf("ADDRESS_FORMAT_"),
  address: text,
  publicKey: optional(text),
  ...times,
};
export const smartContractInterface = {
  organizationId: uuid,
  smartContractInterfaceId: uuid,
  smartContractAddress: text,
  smartContractInterface: text,
  type: oneOf("SMART_CONTRACT_INTERFACE_TYPE_"),
  label: text,
  notes: text,
  ...times,
};
const vote = {
  id: uuid,
  userId: uuid,
  user,
  activityId: uuid,
  selection: oneOf("VOTE_SELECTION_"),
  message: text,
  publicKey: text,
  signature: text,
  scheme: oneOf("SIGNATURE_SCHEME_"),
  createdAt: timestamp,
};
// The times of an activity are left out: the two renderings of an activity differ in them.
export const activity = {
  id: uuid,
  organizationId: uuid,
  status: oneOf("ACTIVITY_STATUS_"),
  type: oneOf("ACTIVITY_TYPE_"),
  votes: [vote],
  fingerprint: oneOf("sha256:"),
  canApprove: flag,
  canReject: flag,
};

export function assertShape(value, shape, at = "answer") {
  if (typeof shape === "function") {
    assert.ok(shape(value), `${at}: unexpected ${JSON.stringify(value)}`);
  } else if (Array.isArray(shape)) {
    assert.ok(Array.isArray(value), `${at}: not a list but ${JSON.stringify(value)}`);
    value.forEach((item, index) => assertShape(item, shape[0], `${at}[${index}]`));
  } else {
    assert.ok(value !== null && typeof value === "object", `${at}: not an object but ${JSON.stringify(value)}`);
    for (const [name, part] of Object.entries(shape)) assertShape(value[name], part, `${at}.${name}`);
  }
}
