// node webhooks.mjs CLIENT: webhooks that the server sends, verified by the published verifier of @turnkey/crypto.
// Prints a JSON line per case: {case, error}, error null when it held.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { verifyTurnkeyWebhookSignature } from "@turnkey/crypto";
import { clients, organizationId } from "./clients.mjs";

const client = clients[process.argv[2]]();
const unique = (name) => `${name} ${randomBytes(4).toString("hex")}`;
const maxTimestampAgeMs = 5 * 60 * 1000;

const arrived = [];
const waiting = [];
const receiver = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    arrived.push({ headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(204).end();
    for (const look of waiting) look();
  });
});
await new Promise((listening) => receiver.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${receiver.address().port}/turnkey`;

function webhookOf(activityId) {
  return new Promise((found) => {
    const look = () => {
      const webhook = arrived.find(({ body }) => JSON.parse(body).id === activityId);
      if (webhook) found(webhook);
    };
    waiting.push(look);
    look();
  });
}

// As the documentation shows it.
async function publishedKeys() {
  const answer = await fetch(`${process.env.KEYSTEAD_BASE_URL}/public/v1/discovery/webhooks/jwks`);
  assert.match(answer.headers.get("cache-control"), /max-age=\d+/);
  const { keys } = await answer.json();
  return keys.map((key) => ({
    keyId: key.kid,
    publicKey: Buffer.from(key.x, "base64url").toString("hex"),
    algorithm: key.turnkey_signature_algorithm,
  }));
}

const verificationKeys = await publishedKeys();
const verified = (headers, body, more = {}) =>
  verifyTurnkeyWebhookSignature({ headers, body, verificationKeys, maxTimestampAgeMs, ...more });

const endpoint = { url, name: unique("endpoint"), subscriptions: [{ eventType: "ACTIVITY_UPDATES" }] };
const { result: made } = await client.submit("createWebhookEndpoint", "ACTIVITY_TYPE_CREATE_WEBHOOK_ENDPOINT", endpoint);
const tagged = await client.submit("createUserTag", "ACTIVITY_TYPE_CREATE_USER_TAG", {
  userTagName: unique("tag"),
  userIds: [],
});
const webhook = await webhookOf(tagged.activity.id);

const cases = {
  async the_endpoint_as_the_client_reads_it() {
    const { webhookEndpoints } = await client.query("listWebhookEndpoints");
    const listed = webhookEndpoints.find(({ endpointId }) => endpointId === made.endpointId);
    assert.deepEqual(listed, made.webhookEndpoint);
    assert.equal(listed.url, url);
    assert.equal(listed.isActive, true);
    assert.equal(listed.subscriptions[0].eventType, "ACTIVITY_UPDATES");
  },

  async the_published_verifier_accepts_it() {
    const result = verified(webhook.headers, webhook.body);
    assert.equal(result.ok, true, JSON.stringify(result));
    assert.equal(result.eventId, webhook.headers["x-turnkey-event-id"]);
    assert.equal(verified(new Headers(webhook.headers), webhook.body.toString()).ok, true);
    assert.equal(webhook.headers["content-type"], "application/json");
    assert.equal(webhook.headers["x-turnkey-organization-id"], organizationId);
  },

  async the_body_is_the_activity() {
    const activity = JSON.parse(webhook.body);
    const expected = ["id", "organizationId", "status", "type", "fingerprint"].map((name) => tagged.activity[name]);
    assert.deepEqual([activity.id, activity.organizationId, activity.status, activity.type, activity.fingerprint], expected);
    assert.match(activity.createdAt.seconds, /^\d+$/);
  },

  async it_refuses_each_field_that_was_changed() {
    const changes = {
      "x-turnkey-timestamp": (value) => String(Number(value) + 1),
      "x-turnkey-event-id": (value) => `${value}0`,
      "x-turnkey-signature-key-id": (value) => `${value}0`,
      "x-turnkey-signature-algorithm": () => "ed448",
      "x-turnkey-signature-version": () => "v2",
      "x-turnkey-signature": (value) => (value[0] === "0" ? "1" : "0") + value.slice(1),
    };
    for (const [name, change] of Object.entries(changes)) {
      const headers = { ...webhook.headers, [name]: change(webhook.headers[name]) };
      assert.equal(verified(headers, webhook.body).ok, false, name);
      const { [name]: _, ...without } = webhook.headers;
      assert.deepEqual(verified(without, webhook.body), { ok: false, reason: "missing_header", headerName: name });
    }
    const body = Buffer.concat([webhook.body, Buffer.from(" ")]);
    assert.equal(verified(webhook.headers, body).reason, "invalid_signature");
    const nowMs = Number(webhook.headers["x-turnkey-timestamp"]) + maxTimestampAgeMs + 1;
    assert.equal(verified(webhook.headers, webhook.body, { nowMs }).reason, "stale_timestamp");
  },

  async the_vectors_hold_for_this_version_of_it() {
    const { vectors } = JSON.parse(await readFile(new URL("../vectors/tokens.json", import.meta.url)));
    const rows = vectors.filter(({ kind }) => kind === "webhook");
    assert.equal(rows.length, 5);
    for (const { headers, body, verificationKey, nowMs, maxTimestampAgeMs, reason } of rows) {
      const given = { headers, body, verificationKeys: [verificationKey], nowMs, maxTimestampAgeMs };
      assert.equal(verifyTurnkeyWebhookSignature(given).reason, reason);
    }
  },

  async the_endpoint_is_changed_and_deleted() {
    const { endpointId } = made;
    const type = "ACTIVITY_TYPE_UPDATE_WEBHOOK_ENDPOINT";
    const changed = await client.submit("updateWebhookEndpoint", type, { endpointId, isActive: false });
    assert.equal(changed.result.webhookEndpoint.isActive, false);
    await client.submit("deleteWebhookEndpoint", "ACTIVITY_TYPE_DELETE_WEBHOOK_ENDPOINT", { endpointId });
    const { webhookEndpoints } = await client.query("listWebhookEndpoints");
    assert.equal(webhookEndpoints.find((one) => one.endpointId === endpointId), undefined);
  },
};

for (const [name, body] of Object.entries(cases)) {
  const error = await body().then(() => null, (failure) => failure.stack);
  console.log(JSON.stringify({ case: name, error }));
}
receiver.closeAllConnections();
receiver.close();
