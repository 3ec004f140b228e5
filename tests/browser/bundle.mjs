// Bundles a page as an application would, with esbuild. The packages stay as they are published, but for the key that
// installation-key.mjs replaces. Scripts that share a temporary folder and a server share the bundle.
import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { installationKey } from "../../examples/people-log-in/installation-key.mjs";

const LOCK = new URL("../package-lock.json", import.meta.url);

/** The bundle's text. `verificationKey`: see installation-key.mjs. */
export async function bundled(entry, verificationKey) {
  const hash = createHash("sha256").update(verificationKey);
  for (const source of [entry, new URL(import.meta.url), LOCK]) hash.update(await readFile(source));
  const kept = join(tmpdir(), `page-${hash.digest("hex")}.js`);
  try {
    return await readFile(kept, "utf8");
  } catch (missing) {
    if (missing.code !== "ENOENT") throw missing;
  }
  const text = await bundledAnew(entry, verificationKey);
  await writeFile(`${kept}.${process.pid}`, text);
  await rename(`${kept}.${process.pid}`, kept); // another script finds all of it, or nothing
  return text;
}

async function bundledAnew(entry, verificationKey) {
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
