// Bundles a page as an application would, with esbuild. The packages stay as they are published, but for the key that
// installation-key.mjs replaces.
import { build } from "esbuild";
import { installationKey } from "../../examples/people-log-in/installation-key.mjs";

/** The bundle's text. `verificationKey`: see installation-key.mjs. */
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
    plugins: [installationKey(verificationKey)],
  });
  return outputFiles[0].text;
}
