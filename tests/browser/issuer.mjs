// An OpenID Connect provider on this machine: the npm package oidc-provider with one client, which is the page.
import { once } from "node:events";
import Provider from "oidc-provider";

console.info = console.warn = console.error; // its notices: standard output is for the results of cases

export const CLIENT_ID = "the-page";

/** `issuer`: http://localhost:PORT. `key`: a private JWK. `redirectUri`: where people come back to. */
export async function startIssuer(issuer, key, redirectUri) {
  const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [
      {
        client_id: CLIENT_ID,
        application_type: "native", // which may be on localhost
        token_endpoint_auth_method: "none",
        grant_types: ["implicit"],
        response_types: ["id_token"],
        redirect_uris: [redirectUri],
        id_token_signed_response_alg: key.alg,
      },
    ],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  });
  const server = provider.listen(Number(new URL(issuer).port), "localhost");
  await once(server, "listening");
  return () => server.close();
}

/** Log in at the provider, which has shown its forms, as `name`. Ends on the page that people come back to. */
export async function logInAs(page, name) {
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("any");
  await page.locator("::-p-xpath(//button[contains(., 'Sign-in')])").click();
  await page.locator("::-p-xpath(//button[contains(., 'Continue')])").click(); // consent
  await page.waitForFunction("window.connect");
}
