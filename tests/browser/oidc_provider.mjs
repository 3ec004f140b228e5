// A real OpenID Connect provider on this machine, for people who log in without a password: the npm package oidc-provider.
// The person that the authorization request names in `login_hint` is logged in at once.
//
//   node oidc_provider.mjs PORT KEY_NUMBER REDIRECT_URI
//
// runs one at http://127.0.0.1:PORT with CLIENTS; keys of another number are other keys. It prints a line when it is ready.
// Other scripts import `startProvider`.
import { createHash, createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import Provider from "oidc-provider";

console.info = console.warn = console.error; // its notices: standard output is for results

const CLIENTS = [
  { client_id: "app" },
  { client_id: "other-app" },
  { client_id: "short-lived" },
  { client_id: "shared-secret", id_token_signed_response_alg: "HS256" },
];

/** A client without a secret: a page, which gets its ID token in the address that people come back to. */
export function page(client_id) {
  return {
    client_id,
    application_type: "native", // which may be on localhost
    token_endpoint_auth_method: "none",
    grant_types: ["implicit"],
    response_types: ["id_token"],
  };
}

/** `issuer`: http://HOST:PORT. `key`: a private JWK. `redirectUri`: where people come back to. */
export async function startProvider(issuer, key, redirectUri, clients) {
  const provider = new Provider(issuer, {
    clients: clients.map((client) => ({
      client_secret: "a client secret of thirty-two characters",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      id_token_signed_response_alg: key.alg,
      ...client,
    })),
    jwks: { keys: [key] },
    enabledJWA: { idTokenSigningAlgValues: [key.alg, "HS256"] },
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
  const answer = provider.callback();
  const server = createServer((request, response) => {
    if (!request.url.startsWith("/interaction/")) {
      answer(request, response);
      return;
    }
    interact(provider, request, response).catch((failed) => {
      response.statusCode = 500;
      response.end(String(failed));
    });
  });
  const { hostname, port } = new URL(issuer);
  server.listen(Number(port), hostname);
  await once(server, "listening");
  return () => server.close();
}

async function interact(provider, request, response) {
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

// An Ed25519 key needs no search for a valid scalar: any 32 bytes are one. The digest makes the number a key.
function signingKey(number) {
  const seed = createHash("sha256").update(`key ${number}`).digest();
  const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  const jwk = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" }).export({ format: "jwk" });
  return { ...jwk, kid: `key-${number}`, use: "sig", alg: "EdDSA" };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [port, keyNumber, redirectUri] = process.argv.slice(2);
  const issuer = `http://127.0.0.1:${port}`;
  await startProvider(issuer, signingKey(keyNumber), redirectUri, CLIENTS);
  console.log(`ready ${issuer}`);
}
