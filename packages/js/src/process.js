// Starting `keystead dev --memory` on a free port, waiting until it answers, stopping it. The server ends when the pipe
// at its standard input closes, and the system closes that when this process or worker ends, however it ends.

import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { KeysteadError } from "./requests.js";

const LOOK_AGAIN_MS = 20;
const SHOWN_CHARACTERS = 4000;
const STOP_MS = 10_000;

export async function startProcess({ command, args = [], seed, startTimeoutMs = 60_000, env } = {}) {
  const [program, ...first] = command ?? foundCommand(process.env);
  const folder = await mkdtemp(join(tmpdir(), "keystead-"));
  const file = join(folder, "credentials.json");
  const own = ["--port", "0", "--memory", "--end-with-caller", "--credentials", file];
  const given = ["dev", ...own, ...(seed ? ["--seed", seed] : []), ...args];
  const child = spawn(program, [...first, ...given], {
    stdio: ["pipe", "ignore", "pipe"],
    env: { ...process.env, ...env },
  });
  let said = "";
  let failure;
  child.stderr.setEncoding("utf8");
  child.stderr.on("data", (text) => {
    said = (said + text).slice(-SHOWN_CHARACTERS);
  });
  child.on("error", (error) => {
    failure = error;
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  child.stdin.on("error", () => {}); // nothing is written to it

  async function stop() {
    if (child.exitCode === null && child.signalCode === null && failure === undefined) {
      child.ref();
      child.stdin.destroy();
      const late = pause(STOP_MS, undefined, { ref: false }).then(() => child.kill("SIGKILL"));
      await Promise.race([ended, late]);
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  }

  // Attempts are counted and not timed: a test may have replaced the clock of this process.
  for (let left = startTimeoutMs / LOOK_AGAIN_MS; left > 0; left -= 1) {
    if (failure !== undefined || child.exitCode !== null || child.signalCode !== null) {
      const why = failure?.message ?? `it ended with ${child.exitCode ?? child.signalCode}:\n${said}`;
      await stop();
      throw new KeysteadError(`keystead dev did not start (${[program, ...first].join(" ")}): ${why}`);
    }
    const credentials = await readFile(file, "utf8").then(JSON.parse, () => undefined);
    if (credentials !== undefined) {
      // The process of a test runner ends although the server goes on.
      child.unref();
      child.stderr.unref?.();
      child.stdin.unref?.();
      await rm(folder, { recursive: true, force: true });
      return { credentials, stop };
    }
    await pause(LOOK_AGAIN_MS);
  }
  await stop();
  throw new KeysteadError(`keystead dev was not ready within ${startTimeoutMs} ms:\n${said}`);
}

// KEYSTEAD_COMMAND, else `keystead` on PATH, else `uvx keystead`.
export function foundCommand(env) {
  const chosen = env.KEYSTEAD_COMMAND?.trim();
  if (chosen) {
    return chosen.startsWith("[") ? JSON.parse(chosen) : chosen.split(/\s+/);
  }
  for (const command of [["keystead"], ["uvx", "keystead"]]) {
    if (isOnPath(command[0], env.PATH ?? "")) {
      return command;
    }
  }
  throw new KeysteadError(
    "Keystead is not installed: `pip install keystead`, or install uv, or set KEYSTEAD_COMMAND to the command",
  );
}

function isOnPath(name, path) {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== "";
    } catch {
      return false;
    }
  });
}
