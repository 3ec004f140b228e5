// Every control of the package against a server that it started.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { request } from "node:http";
import { connect, KeysteadError, start } from "keystead";

let server;
before(async () => {
  server = await start();
});
after(() => server.stop());
beforeEach(() => server.reset());

const MOMENT = new Date("2030-01-01T12:00:00.000Z");

function status(path) {
  const url = new URL(path, server.baseUrl);
  return new Promise((resolve) => {
    const asked = request(url, { method: "POST" }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode));
    });
    asked.on("error", () => resolve(0));
    asked.end("{}");
  });
}

const whoami = () => status("/public/v1/query/whoami");

test("the clock", async () => {
  const { clock } = server;
  assert.equal(await clock.isFrozen(), false);
  assert.deepEqual(await clock.freeze(MOMENT), MOMENT);
  assert.deepEqual(await clock.now(), MOMENT);
  assert.equal(await clock.isFrozen(), true);
  assert.deepEqual(await clock.advance({ hours: 1, minutes: 30, milliseconds: 5 }), new Date("2030-01-01T13:30:00.005Z"));
  assert.deepEqual(await clock.set(MOMENT), MOMENT);
  assert.ok((await clock.resume()) >= MOMENT);
  await clock.acceptSystemTime(false);
  assert.ok((await clock.reset()) < MOMENT);
  await assert.rejects(async () => clock.advance({ weeks: 1 }), /no such unit: weeks/);
  await assert.rejects(clock.set(new Date(-1)), KeysteadError);
});

test("faults", async () => {
  const usual = await whoami();
  await server.faults.fail(503, { count: 2 });
  assert.deepEqual([await whoami(), await whoami(), await whoami()], [503, 503, usual]);
  await server.faults.cut({ path: "whoami" });
  assert.equal(await whoami(), 0);
  await server.faults.slow(1);
  assert.equal(await whoami(), usual);
  await server.faults.fail();
  await server.faults.clear();
  assert.equal(await whoami(), usual);
  await assert.rejects(server.faults.fail(200), { name: "KeysteadError", status: 400 });
});

test("a rate limit", async () => {
  await server.limitRate(1);
  const statuses = [await whoami(), await whoami(), await whoami()];
  assert.ok(statuses.includes(429), String(statuses));
  await server.limitRate(0);
});

test("organizations of one's own", async () => {
  const [one, other] = await Promise.all([server.newOrganization(), server.newOrganization({ name: "Other", wallet: true })]);
  assert.notEqual(one.organizationId, other.organizationId);
  assert.equal(one.baseUrl, server.baseUrl);
  assert.match(one.apiPrivateKey, /^[0-9a-f]{64}$/);
  await server.reset(one.organizationId);
  await assert.rejects(server.reset(one.organizationId), { status: 404 });
});

test("requests, outcomes, snapshots, messages", async () => {
  await whoami();
  assert.deepEqual((await server.requests()).map((seen) => seen.operation), ["whoami"]);
  await server.forgetRequests();
  assert.deepEqual(await server.requests(), []);
  await server.nextOutcome("ACTIVITY_TYPE_CREATE_WALLET", "ACTIVITY_STATUS_FAILED", { count: 2 });
  await server.clearOutcomes();
  await assert.rejects(server.nextOutcome("ACTIVITY_TYPE_NOTHING", "ACTIVITY_STATUS_FAILED"), /no submission makes/);
  const made = await server.newOrganization();
  await server.snapshot("one more");
  assert.ok((await server.snapshots()).includes("one more"));
  await server.reset();
  await server.restore("one more");
  await server.reset(made.organizationId);
  assert.deepEqual(await server.outbox.messages(), []);
  await assert.rejects(server.outbox.code("ada@example.com", { timeoutMs: 20 }), /0 of 1 messages/);
  assert.deepEqual(await server.webhooks.sent(), []);
  await assert.rejects(server.webhooks.waitFor("none", { timeoutMs: 20 }), /0 of 1 webhooks/);
});

test("a server that runs already", async () => {
  const controls = connect(`${server.baseUrl}/`);
  assert.equal(controls.baseUrl, server.baseUrl);
  await controls.clock.freeze(MOMENT);
  assert.deepEqual(await server.clock.now(), MOMENT);
});
