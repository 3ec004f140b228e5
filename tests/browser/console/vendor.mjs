// Writes the console's copies of npm packages, each one readable file with its licences above. `--check`: compares
// the files with what the installed packages give, and fails if one differs.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const FOLDER = new URL("../../../src/keystead/console/static/vendor/", import.meta.url);
const PACKAGES = new URL("../../node_modules/", import.meta.url);

/** The exports of each file, by the package that has them. */
const FILES = {
  "preact.js": {
    preact: "h, render, Fragment",
    "preact/hooks": "useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState",
    "@preact/signals": "signal, computed, effect, batch",
    htm: "default as htm",
  },
  "qr.js": { uqr: "encode" },
};
const PACKAGES_OF = { "preact.js": ["preact", "@preact/signals", "@preact/signals-core", "htm"], "qr.js": ["uqr"] };

async function contentOf(name) {
  const lines = Object.entries(FILES[name]).map(([from, exports]) => `export { ${exports} } from "${from}";`);
  if (name === "preact.js") {
    lines.push('import { h as element } from "preact";', 'import bound from "htm";', "export const html = bound.bind(element);");
  }
  const { outputFiles } = await build({
    stdin: { contents: lines.join("\n"), resolveDir: new URL("..", PACKAGES).pathname },
    bundle: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    preserveSymlinks: true, // the comments name files below node_modules, wherever that folder is
    absWorkingDir: new URL("..", PACKAGES).pathname,
    write: false,
  });
  const licences = await Promise.all(PACKAGES_OF[name].map(licenceOf));
  return `${licences.join("\n")}\n${outputFiles[0].text}`;
}

async function licenceOf(packageName) {
  const { version, license } = JSON.parse(await readFile(new URL(`${packageName}/package.json`, PACKAGES), "utf8"));
  const text = await readFile(new URL(`${packageName}/LICENSE`, PACKAGES), "utf8");
  const [copyright] = text.match(/Copyright (\(c\) )?\d{4}.*/) ?? [];
  const comment = license === "Apache-2.0" ? `${copyright}\n\nSee LICENSE of this repository for the licence's text.` : text.trim();
  return `/*\n${packageName} ${version}, ${license}\n\n${comment.replaceAll("*/", "* /")}\n*/`;
}

const isCheck = process.argv.includes("--check");
await mkdir(FOLDER, { recursive: true });
for (const name of Object.keys(FILES)) {
  const file = new URL(name, FOLDER);
  const content = await contentOf(name);
  if (!isCheck) await writeFile(file, content);
  const differs = isCheck && (await readFile(file, "utf8").catch(() => "")) !== content;
  console.log(JSON.stringify({ case: name, error: differs ? `${name} differs from its packages: run make vendor` : null }));
}
