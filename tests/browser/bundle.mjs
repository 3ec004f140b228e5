// Bundles a page as an application would, with esbuild. The packages stay as they are published.
//
// @turnkey/core encrypts one-time codes to the key of the public service and has no option for another key. So the
// application's bundler puts the installation's key in the place of that one constant.
import { readFile } from "node:fs/promises";
import { build } from "esbuild";

const PUBLIC_SERVICE =
  "046b4f88421f76b6ba418afc2ea1d8ced671337d7db6b80478a60d8531bf8f17fa9a512f0fef96fc0c9b4cd9dff70b34992e520ce04c79d931f6ff6296b547d201";

const withKey = (verificationKey) => ({
  name: "keystead-verification-key",
  setup({ onLoad }) {
    onLoad({ filter: /@turnkey\/crypto\/dist\/constants\.m?js$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replaceAll(PUBLIC_SERVICE, verificationKey),
    }));
  },
});

/** The bundle's text. `verificationKey`: uncompressed hex of the key that signs the server's code targets. */
export async function bundled(entry, verificationKey) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    write: false,
    jsx: "automatic",
    logLevel: "error",
    define: { global: "globalThis", "process.env.NODE_ENV": '"production"' },
    loader: { ".css": "empty", ".svg": "dataurl", ".png": "dataurl" },
    plugins: verificationKey ? [withKey(verificationKey)] : [],
  });
  return outputFiles[0].text;
}
