// node consensus.mjs CLIENT: approvals as an application sees them through one published client.
// Prints a JSON line per case: {case, error}, error null when it held. Later cases use what earlier ones made.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { generateP256KeyPair } from "@turnkey/crypto";
import { assertActivityCompleted } from "@turnkey/http";
import { clients, organizationId } from "./clients.mjs";
import * as shapes from "./shapes.mjs";

const root = clients[process.argv[2]]();
const people = {}; // {userId, client} by name
const made = {};
const unique = (name) => `${name} ${randomBytes(4).toString("hex")}`;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const submit = (client, method, type, parameters, envelope) =>
  client.submit(method, `ACTIVITY_TYPE_${type}`, parameters, envelope);

// Without the client's polling: what a vote is answered with is the activity voted on.
async function vote(client, decision, fingerprint) {
  const envelope = { type: `ACTIVITY_TYPE_${decision.toUpperCase()}_ACTIVITY`, timestampMs: String(Date.now()) };
  const parameters = client.takesEnvelope ? { ...envelope, parameters: { fingerprint } } : { fingerprint };
  const { activity } = await client.query(`${decision}Activity`, parameters);
  shapes.assertShape(activity, shapes.activity, "activity");
  return activity;
}

async function newUser() {
  const { publicKey, privateKey } = generateP256KeyPair();
  const apiKeys = [{ apiKeyName: unique("key"), publicKey, curveType: "API_KEY_CURVE_P256" }];
  const user = { userName: unique("user"), apiKeys, authenticators: [], oauthProviders: [], userTags: [] };
  const { result } = await submit(root, "createUsers", "CREATE_USERS_V4", { users: [user] });
  const client = root.as({ apiPublicKey: publicKey, apiPrivateKey: privateKey });
  return { userId: result.userIds[0], client };
}

const wallet = () => ({ walletName: unique("wallet"), accounts: [] });

async function waiting(client) {
  const filters = { filterByStatus: ["ACTIVITY_STATUS_CONSENSUS_NEEDED"] };
  const { activities } = await client.query("getActivities", filters);
  return activities.filter((activity) => activity.type === "ACTIVITY_TYPE_CREATE_WALLET");
}

// The clients of @turnkey/http throw as soon as an activity waits for others; sdk-server polls, then returns it.
async function proposed(client, parameters, envelope) {
  const type = "CREATE_WALLET";
  if (client.takesEnvelope) {
    const id = await assertActivityError(submit(client, "createWallet", type, parameters, envelope), {
      status: "CONSENSUS_NEEDED",
      message: /^Consensus needed for activity /,
    });
    return (await client.query("getActivity", { activityId: id })).activity;
  }
  const { activity, result } = await submit(client, "createWallet", type, parameters);
  assert.deepEqual(result, {});
  return activity;
}

async function assertActivityError(request, { status, message }) {
  let activityId;
  await assert.rejects(request, (error) => {
    assert.equal(error.name, "TurnkeyActivityError", error.stack);
    assert.equal(error.activityStatus, `ACTIVITY_STATUS_${status}`);
    assert.match(error.message, message);
    activityId = error.activityId;
    return true;
  });
  return activityId;
}

async function assertDenied(request, check = () => {}) {
  await assert.rejects(request, (error) => {
    assert.equal(error.name, "TurnkeyRequestError", error.stack);
    assert.equal(error.code, 7, error.message);
    assert.equal(error.details[0]["@type"], "type.googleapis.com/errors.v1.PolicyEnginePermissionError");
    check(error.details[0]);
    return true;
  });
}

const cases = {
  async users() {
    for (const name of ["ana", "ben", "eve"]) people[name] = await newUser();
  },

  async tag() {
    const parameters = { userTagName: unique("signers"), userIds: [people.ana.userId, people.ben.userId] };
    const { result } = await submit(root, "createUserTag", "CREATE_USER_TAG", parameters);
    made.tagId = result.userTagId;
    const { userTags } = await root.query("listUserTags");
    assert.equal(userTags.find((tag) => tag.tagId === made.tagId).tagType, "TAG_TYPE_USER");
  },

  async policy() {
    const parameters = {
      policyName: unique("two signers"),
      effect: "EFFECT_ALLOW",
      consensus: `approvers.filter(user, user.tags.contains('${made.tagId}')).count() >= 2`,
      condition: "activity.kind == 'CREATE_WALLET'",
      notes: "",
    };
    const { result } = await submit(root, "createPolicy", "CREATE_POLICY_V3", parameters);
    made.policyId = result.policyId;
    const { policy } = await root.query("getPolicy", { policyId: made.policyId });
    for (const name of Object.keys(parameters)) assert.equal(policy[name], parameters[name], name);
    const { policies } = await root.query("getPolicies");
    assert.equal(policies.filter((listed) => listed.policyId === made.policyId).length, 1);
  },

  async waits() {
    const activity = await proposed(people.ana.client, wallet());
    shapes.assertShape(activity, shapes.activity, "activity");
    assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    assert.deepEqual([activity.canApprove, activity.canReject], [false, true]);
    const [seen] = await waiting(people.ben.client);
    assert.deepEqual([seen.id, seen.canApprove, seen.canReject], [activity.id, true, true]);
    assert.throws(() => assertActivityCompleted(activity), { name: "TurnkeyActivityConsensusNeededError" });
    made.activity = activity;
  },

  async others_do_not_vote() {
    for (const decision of ["approve", "reject"]) {
      await assertDenied(vote(people.eve.client, decision, made.activity.fingerprint));
    }
    const { activity } = await people.eve.client.query("getActivity", { activityId: made.activity.id });
    assert.deepEqual([activity.canApprove, activity.canReject], [false, false]);
  },

  async approved_by_the_second() {
    const activity = await vote(people.ben.client, "approve", made.activity.fingerprint);
    assert.deepEqual([activity.id, activity.status], [made.activity.id, "ACTIVITY_STATUS_COMPLETED"]);
    assert.deepEqual(activity.votes.map((one) => one.userId).sort(), [people.ana.userId, people.ben.userId].sort());
    const { walletId } = activity.result.createWalletResult;
    assert.equal((await root.query("getWallet", { walletId })).wallet.walletId, walletId);
  },

  async completed_for_the_first() {
    const { activity } = await people.ana.client.query("getActivity", { activityId: made.activity.id });
    assert.ok(assertActivityCompleted(activity));
    assert.deepEqual([activity.canApprove, activity.canReject], [false, false]);
  },

  async evaluations() {
    const answer = await root.query("getPolicyEvaluations", { activityId: made.activity.id });
    const outcomes = answer.policyEvaluations.map(
      (one) => one.policyEvaluations.find(({ policyId }) => policyId === made.policyId).outcome,
    );
    assert.deepEqual(outcomes, ["OUTCOME_REQUIRES_CONSENSUS", "OUTCOME_ALLOW"]);
  },

  async rejected() {
    const [parameters, envelope] = [wallet(), { timestampMs: String(Date.now()) }];
    const { fingerprint, id } = await proposed(people.ana.client, parameters, envelope);
    const activity = await vote(people.ben.client, "reject", fingerprint);
    assert.deepEqual([activity.id, activity.status], [id, "ACTIVITY_STATUS_REJECTED"]);
    if (root.takesEnvelope) {
      // The same bytes again are the same activity, which is over.
      const again = submit(people.ana.client, "createWallet", "CREATE_WALLET", parameters, envelope);
      await assertActivityError(again, { status: "REJECTED", message: /was rejected$/ });
    }
  },

  async unknown_fingerprint() {
    await assert.rejects(vote(root, "approve", made.activity.id), (error) => {
      assert.deepEqual([error.name, error.code], ["TurnkeyRequestError", 5], error.stack);
      assert.match(error.message, /No activity found with fingerprint/);
      return true;
    });
  },

  async denied() {
    let denial;
    const request = submit(people.eve.client, "createWallet", "CREATE_WALLET", wallet());
    await assertDenied(request, (detail) => (denial = detail));
    assert.equal(denial.message, "No policies evaluated to outcome: Allow");
    assert.ok(denial.policyEvaluations.some(({ policyId }) => policyId === made.policyId));
    const kept = await root.query("getPolicyEvaluations", { activityId: denial.activityId });
    assert.equal(kept.policyEvaluations.length, 1);
  },
};

// sdk-server goes on asking while an activity waits.
if (!root.takesEnvelope) {
  cases.polled_to_completion = async () => {
    const submitted = submit(people.ana.client, "createWallet", "CREATE_WALLET", wallet());
    let found = [];
    while (found.length === 0) {
      await pause(20);
      found = await waiting(people.ben.client);
    }
    await vote(people.ben.client, "approve", found[0].fingerprint);
    const { activity, result } = await submitted;
    assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
    assert.equal(activity.organizationId, organizationId);
    assert.equal(activity.result.createWalletResult.walletId, result.walletId);
  };
}

for (const [name, body] of Object.entries(cases)) {
  const error = await body().then(() => null, (failure) => failure.stack);
  console.log(JSON.stringify({ case: name, error }));
}
