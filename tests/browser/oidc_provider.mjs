// A real OpenID Connect provider on this machine, for people who log in without a password.
//
//   node oidc_provider.mjs PORT KEY_NUMBER [REDIRECT_URI]
//
// The issuer is http://127.0.0.1:PORT; keys of another number are other keys. Whoever the authorization request names in
// `login_hint` is logged in at once. Clients: see CLIENTS. Prints a line when it is ready.
import { createHash, createPrivateKey } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [port, keyNumber, redirectUri = "https://app.example/callback"] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;

const CLIENTS = [
  { client_id: "app" },
  { client_id: "other-app" },
  { client_id: "short-lived" },
  { client_id: "shared-secret", id_token_signed_response_alg: "HS256" },
];

// An Ed25519 key needs no search for a valid scalar: any 32 bytes are one. The digest makes the number a key.
function signingKey(number) {
  const seed = createHash("sha256").update(`key ${number}`).digest();
  const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  const jwk = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" }).export({ format: "jwk" });
  return { ...jwk, kid: `key-${number}`, use: "sig", alg: "EdDSA" };
}

const provider = new Provider(issuer, {
  clients: CLIENTS.map((client) => ({
    client_secret: "a client secret of thirty-two characters",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code"],
    response_types: ["code"],
    id_token_signed_response_alg: "EdDSA",
    ...client,
  })),
  jwks: { keys: [signingKey(keyNumber)] },
  enabledJWA: { idTokenSigningAlgValues: ["EdDSA", "HS256"] },
  cookies: { keys: ["for tests"] },
  conformIdTokenClaims: false,
  claims: { openid: ["sub", "id", "data", "email", "email_verified"] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  ttl: {
    IdToken: (_, __, client) => (client.clientId === "short-lived" ? 1 : 3600),
    AccessToken: 3600,
    AuthorizationCode: 60,
    Grant: 3600,
    Interaction: 3600,
    Session: 3600,
  },
  findAccount: (_, sub) => ({
    accountId: sub,
    claims: () => ({ sub, id: sub, data: { id: sub }, email: `${sub}@example.com`, email_verified: true }),
  }),
});

async function interact(request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    await provider.interactionFinished(request, response, { login: { accountId: params.login_hint } });
    return;
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope("openid");
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

const answer = provider.callback();
createServer((request, response) => {
  if (!request.url.startsWith("/interaction/")) {
    answer(request, response);
    return;
  }
  interact(request, response).catch((failed) => {
    response.statusCode = 500;
    response.end(String(failed));
  });
}).listen(Number(port), "127.0.0.1", () => console.log(`ready ${issuer}`));
