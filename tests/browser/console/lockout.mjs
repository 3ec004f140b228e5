// A person who would be locked out by an IP allow-list is asked first; one who is locked out reads what helps.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { generateP256KeyPair } from "@turnkey/crypto";
import { clientOf, fill, inspect, logIn, open, press, rootClient, run, shows } from "./pages.mjs";

const NOT_LISTED = "is not on the IP allow-list of this organization";
const ADVICE = "keystead recover ip-allowlist";
const ELSEWHERE = { rules: [{ cidr: "10.1.0.0/20" }], enabled: true };

const KEYSTEAD = fileURLToPath(new URL("../../../.venv/bin/keystead", import.meta.url));

const root = rootClient();
const key = generateP256KeyPair(); // of another member of the root quorum
const rulesOnRecord = async () => (await root.getIpAllowlist({})).allowlist.rules.length;

/** Sends a list that has no address of this machine, as far as the question. */
async function sendList(page) {
  await open(page, "#/actions/set_ip_allowlist");
  await fill(page, "Network", "10.1.0.0/20");
  await fill(page, "Is enforced", "true");
  await press(page, "Set the IP allow-list", "form button");
  await shows(page, "This locks you out");
  await shows(page, NOT_LISTED);
}

await run({
  "the page says which address the server sees": async (page) => {
    await logIn(page);
    await open(page, "#/organization");
    await shows(page, "There is none: requests may come from every address.");
    assert.match(await page.evaluate(() => document.body.innerText), /as the server sees it: (127\.0\.0\.1|::1)/);
    await inspect(page);
  },
  "a list that would lock its sender out is not sent": async (page) => {
    await logIn(page);
    await sendList(page);
    await inspect(page);
    await press(page, "Close");
    assert.equal(await rulesOnRecord(), 0);
    await press(page, "Set the IP allow-list", "form button");
    await shows(page, "This locks you out");
  },
  "an approval that would lock its voter out": async (page) => {
    const { userIds: [other] } = await root.createUsers({
      users: [{ userName: "Other", userTags: [], authenticators: [], oauthProviders: [], apiKeys: [{ apiKeyName: "key", publicKey: key.publicKey, curveType: "API_KEY_CURVE_P256" }] }],
    });
    const { configs } = await root.getOrganizationConfigs({});
    await root.updateRootQuorum({ threshold: 2, userIds: [...configs.quorum.userIds, other] });
    const asked = await clientOf(key).setIpAllowlist(ELSEWHERE);
    const another = await clientOf(key).createUserTag({ userTagName: "Several can be approved together", userIds: [] });
    await logIn(page);
    await open(page, `#/activities/${asked.activity.id}`);
    await press(page, "Approve");
    await press(page, "Approve", "dialog button");
    await shows(page, "This locks you out");
    await press(page, "Close");
    await shows(page, "Not sent: it would have locked you out.");
    assert.equal(await rulesOnRecord(), 0);
    await open(page, "#/activities");
    await (await page.waitForSelector("input.tick:not(:disabled)")).click();
    await press(page, "Approve 1 with this browser’s key");
    await press(page, "Approve 1", "dialog button");
    await shows(page, "This locks you out");
    await press(page, "Close");
    await shows(page, "Approved 0 of 1, then: Not sent");
    assert.equal(await rulesOnRecord(), 0);
    await open(page, `#/activities/${asked.activity.id}`);
    await press(page, "Reject");
    await press(page, "Reject", "dialog button");
    await shows(page, "Rejected");
    await root.rejectActivity({ fingerprint: another.activity.fingerprint });
  },
  "a person who is locked out reads what helps": async (page) => {
    await logIn(page);
    const asked = await root.setIpAllowlist(ELSEWHERE);
    await clientOf(key).approveActivity({ fingerprint: asked.activity.fingerprint });
    await page.reload();
    await page.waitForSelector("h1");
    await shows(page, NOT_LISTED);
    await shows(page, ADVICE);
    await inspect(page);
    execFileSync(KEYSTEAD, ["recover", "ip-allowlist", "--data", process.env.DATA, "--yes"], { env: {} });
    await page.reload();
    await page.waitForSelector(".frame");
    await open(page, "#/activities");
    await press(page, "Recovery by the operator: lift the IP allow-list");
    await shows(page, "The operator of this server asked");
    await shows(page, "no user asked, and no policy decided");
    await shows(page, "Allowed: the operator of this server asks for it.");
    await inspect(page);
  },
});
