// Finding the command, starting and stopping; and what is said where that fails.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { connect, start } from "keystead";

const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("keystead-"));

test("a seed makes everything the same", async () => {
  const servers = await Promise.all([start({ seed: "one text" }), start({ seed: "one text" })]);
  const [one, other] = servers.map((server) => ({ ...server.credentials, baseUrl: "" }));
  assert.deepEqual(one, other);
  const made = await Promise.all(servers.map((server) => server.newOrganization()));
  assert.equal(made[0].organizationId, made[1].organizationId);
  await Promise.all(servers.map((server) => server.stop()));
  await assert.rejects(connect(servers[0].baseUrl).clock.now(), /is keystead dev running\?/);
});

test("stopping twice, and leaving nothing", async () => {
  const server = await start();
  await server.stop();
  await server.stop();
});

const FAILURES = [
  ["no such command", { command: ["no-such-command"] }, /did not start.*ENOENT/s],
  ["a command that ends", { command: [process.execPath, "-e", "console.error('no'); process.exit(3)"] }, /ended with 3:\s*no/],
  ["an option that is unknown", { args: ["--no-such-option"] }, /No such option|no such option/i],
];
for (const [name, options, why] of FAILURES) {
  test(name, async () => {
    const before = folders();
    await assert.rejects(start(options), why);
    assert.deepEqual(folders().filter((folder) => !before.includes(folder)), []);
  });
}

test("a server that answers https", async () => {
  const server = await start({ args: ["--tls"] });
  try {
    assert.match(server.baseUrl, /^https:\/\/localhost:\d+$/);
    assert.ok(await server.clock.now());
    const made = await server.newOrganization();
    assert.equal(made.caFile, server.credentials.caFile);
    await assert.rejects(connect(server.baseUrl).clock.now(), /certificate/);
    assert.ok(await connect(server.baseUrl, server.credentials).clock.now());
  } finally {
    await server.stop();
  }
});
