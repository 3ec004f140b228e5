// @turnkey/core encrypts one-time codes to a key that the public service signs, and has no option for another service.
// This esbuild plugin replaces the constant with that signing key by the key of your installation.
import { readFile } from "node:fs/promises";

const PUBLIC_SERVICE =
  "046b4f88421f76b6ba418afc2ea1d8ced671337d7db6b80478a60d8531bf8f17fa9a512f0fef96fc0c9b4cd9dff70b34992e520ce04c79d931f6ff6296b547d201";

/** `verificationKey`: uncompressed hex, as `keystead keys list` prints it. */
export const installationKey = (verificationKey) => ({
  name: "installation-key",
  setup: ({ onLoad }) =>
    onLoad({ filter: /@turnkey\/crypto\/dist\/constants\.m?js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      if (!source.includes(PUBLIC_SERVICE)) throw new Error(`${path} has another key: look for PRODUCTION_`);
      return { contents: source.replaceAll(PUBLIC_SERVICE, verificationKey) };
    }),
});

/** The key of the installation at this address. In production copy it into your build instead (docs/logins.md). */
export async function verificationKeyOf(baseUrl) {
  const { keys } = await (await fetch(`${baseUrl}/installation-keys`)).json();
  return keys.find(({ name }) => name === "verification_key").publicKey;
}
