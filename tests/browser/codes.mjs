// People who sign up and log in with a code sent by e-mail or SMS, through @turnkey/core. The page's function codeFor
// looks into the outbox: see outbox.mjs.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { run } from "./cases.mjs";
import { parent } from "./parent.mjs";

const anAddress = () => `${randomUUID()}@example.org`;

async function signsUpThenLogsIn(page, otpType, contact) {
  const [signedUp, loggedIn] = await page.evaluate(
    async (otpType, contact) => {
      const client = await connect();
      const seen = [];
      for (const count of [1, 2]) {
        const begun = await client.initOtp({ otpType, contact });
        const { action } = await client.completeOtp({ ...begun, otpCode: await codeFor(contact, count), otpType, contact });
        seen.push({ action, session: await client.getSession(), user: await client.fetchUser() });
        await client.logout();
      }
      return seen;
    },
    otpType,
    contact,
  );
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
    const seen = await page.evaluate(
      async (contact, made) => {
        const client = await connect();
        const verified = async (count) => {
          const begun = await client.initOtp({ otpType: "OTP_TYPE_EMAIL", contact });
          return client.verifyOtp({ ...begun, otpCode: await codeFor(contact, count) });
        };
        const { verificationToken } = await verified(1);
        const unnamed = await errorOf(client.loginWithOtp({ verificationToken }));
        await client.loginWithOtp({ verificationToken, organizationId: made[0] });
        const first = await client.getSession();
        await client.loginWithOtp({ ...(await verified(2)), organizationId: made[1] });
        return { unnamed, sessions: [first, await client.getSession()] };
      },
      contact,
      made,
    );
    assert.match(seen.unnamed.cause, /more than one suborg associated with/);
    assert.deepEqual(seen.sessions.map(({ organizationId }) => organizationId), made);
  },
};

await run(cases);
