// The published clients behind one face, so that the same cases drive each of them:
//   query(method, parameters)                  the client's answer
//   submit(method, type, parameters, envelope) {activity, result}; `envelope`: further members of the request
//   published                                  the client itself, where it is an object: what signers are given
// `activityTimes` tells which rendering of an activity this client is meant to get; `takesEnvelope`, whether a
// caller can reach the envelope at all.
import assert from "node:assert/strict";
import { ApiKeyStamper } from "@turnkey/api-key-stamper";
import { createActivityPoller, init, TurnkeyApi, TurnkeyClient, withAsyncPolling } from "@turnkey/http";
import { Turnkey } from "@turnkey/sdk-server";

const baseUrl = process.env.KEYSTEAD_BASE_URL;
export const organizationId = process.env.KEYSTEAD_ORGANIZATION_ID;
const ownKeys = {
  apiPublicKey: process.env.KEYSTEAD_API_PUBLIC_KEY,
  apiPrivateKey: process.env.KEYSTEAD_API_PRIVATE_KEY,
};

function sdkServer(keys = ownKeys) {
  const activityPoller = { intervalMs: 50, numRetries: 10 };
  const config = { apiBaseUrl: baseUrl, defaultOrganizationId: organizationId, activityPoller, ...keys };
  const client = new Turnkey(config).apiClient();
  return {
    as: sdkServer,
    activityTimes: "object",
    takesEnvelope: false,
    published: client,
    query: (method, parameters = {}) => client[method](parameters),
    submit: async (method, _type, parameters) => {
      const { activity, ...result } = await client[method](parameters);
      return { activity, result };
    },
  };
}

function http(keys = ownKeys) {
  const client = new TurnkeyClient({ baseUrl }, new ApiKeyStamper(keys));
  return {
    as: http,
    activityTimes: "object",
    takesEnvelope: true,
    published: client,
    query: (method, parameters = {}) => client[method]({ organizationId, ...parameters }),
    submit: async (method, type, parameters, envelope = {}) => {
      const complete = createActivityPoller({ client, requestFn: client[method] });
      return withResult(await complete(submission(type, parameters, envelope)));
    },
  };
}

// The older functions of @turnkey/http: configured globally, and they name no client version in their requests.
function httpFunctions(keys = ownKeys) {
  const call = (request, body) => {
    init({ baseUrl, ...keys });
    return request({ body });
  };
  return {
    as: httpFunctions,
    activityTimes: "string",
    takesEnvelope: true,
    query: (method, parameters = {}) => call(TurnkeyApi[method], { organizationId, ...parameters }),
    submit: async (method, type, parameters, envelope = {}) => {
      const complete = withAsyncPolling({ request: TurnkeyApi[method] });
      return withResult(await call(complete, submission(type, parameters, envelope)));
    },
  };
}

function submission(type, parameters, envelope) {
  return { type, timestampMs: String(Date.now()), organizationId, parameters, ...envelope };
}

function withResult(activity) {
  const names = Object.keys(activity.result).filter((name) => name !== "activity");
  assert.equal(names.length, 1, `one member of result, not ${names}`);
  return { activity, result: activity.result[names[0]] };
}

export const clients = { "sdk-server": sdkServer, http, "http-functions": httpFunctions };
