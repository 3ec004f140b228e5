// People who sign up and log in with a code sent by e-mail or SMS, through @turnkey/core.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { run } from "./cases.mjs";
import { codeFor } from "./outbox.mjs";
import { parent } from "./parent.mjs";

const anAddress = () => `${randomUUID()}@example.org`;

const begin = (page, otpType, contact) =>
  page.evaluate(
    async (asked) => (window.client ??= await connect()).initOtp(asked),
    { otpType, contact },
  );

/** Asks for a code and gives it back: what the page's form does. `count`: how many codes the contact has by then. */
async function complete(page, otpType, contact, count) {
  const begun = await begin(page, otpType, contact);
  const otpCode = await codeFor(contact, count);
  return page.evaluate(
    async (given) => {
      const { action } = await client.completeOtp(given);
      const session = await client.getSession();
      const user = await client.fetchUser();
      await client.logout();
      return { action, session, user };
    },
    { ...begun, otpCode, otpType, contact },
  );
}

async function signsUpThenLogsIn(page, otpType, contact) {
  const signedUp = await complete(page, otpType, contact, 1);
  const loggedIn = await complete(page, otpType, contact, 2);
  assert.deepEqual([signedUp.action, loggedIn.action], ["SIGNUP", "LOGIN"]);
  assert.equal(loggedIn.session.organizationId, signedUp.session.organizationId);
  assert.notEqual(loggedIn.session.organizationId, process.env.KEYSTEAD_ORGANIZATION_ID);
  return loggedIn.user;
}

const cases = {
  async a_code_by_email_signs_up_and_logs_in(page) {
    const contact = anAddress();
    assert.equal((await signsUpThenLogsIn(page, "OTP_TYPE_EMAIL", contact)).userEmail, contact);
  },

  async a_code_by_sms_signs_up_and_logs_in(page) {
    const contact = `+4930${String(Date.now()).slice(-8)}`;
    assert.equal((await signsUpThenLogsIn(page, "OTP_TYPE_SMS", contact)).userPhoneNumber, contact);
  },

  async a_wrong_code_and_too_many_codes_are_told_apart(page) {
    const seen = await page.evaluate(async (contact) => {
      const client = await connect();
      const otpType = "OTP_TYPE_EMAIL";
      const begun = await client.initOtp({ otpType, contact });
      const wrong = await errorOf(client.verifyOtp({ ...begun, otpCode: "x" }));
      let tooMany = null;
      while (tooMany === null) tooMany = await errorOf(client.initOtp({ otpType, contact }));
      return { wrong, tooMany };
    }, anAddress());
    assert.equal(seen.wrong.code, "INVALID_OTP_CODE", seen.wrong.message);
    assert.equal(seen.tooMany.code, "MAX_OTP_INITIATED_ERROR", seen.tooMany.message);
  },

  async of_two_sub_organizations_with_one_address_a_login_names_its_own(page) {
    const contact = anAddress();
    const made = [];
    for (const subOrganizationName of ["first", "second"]) {
      const user = { userName: "user", userEmail: contact, apiKeys: [], authenticators: [], oauthProviders: [] };
      const asked = { subOrganizationName, rootQuorumThreshold: 1, rootUsers: [user] };
      made.push((await parent().createSubOrganization(asked)).subOrganizationId);
    }
    let sent = 0;
    const verified = async () => {
      const begun = await begin(page, "OTP_TYPE_EMAIL", contact);
      const otpCode = await codeFor(contact, ++sent);
      return page.evaluate(async (given) => (await client.verifyOtp(given)).verificationToken, { ...begun, otpCode });
    };
    const token = await verified();
    const unnamed = await page.evaluate((token) => errorOf(client.loginWithOtp({ verificationToken: token })), token);
    assert.match(unnamed.cause, /more than one suborg associated with/);
    for (const organizationId of made) {
      const session = await page.evaluate(
        async (verificationToken, organizationId) => {
          await client.loginWithOtp({ verificationToken, organizationId });
          return client.getSession();
        },
        await verified(),
        organizationId,
      );
      assert.equal(session.organizationId, organizationId);
    }
  },
};

await run(cases);
