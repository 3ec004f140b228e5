// A development server of one's own for tests, and the developer's controls of any development server.
// Here: what the package exports. Not here: starting the process (process.js), each control (controls.js).

import { DevControls } from "./controls.js";
import { startProcess } from "./process.js";

export { DevControls } from "./controls.js";
export { KeysteadError } from "./requests.js";

/** A server that this process started. */
class Server extends DevControls {
  #process;

  constructor(credentials, process) {
    super(credentials.baseUrl, credentials);
    this.credentials = credentials;
    this.#process = process;
  }

  async stop() {
    await this.#process.stop();
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.stop();
  }
}

export async function start(options = {}) {
  const process = await startProcess(options);
  return new Server(process.credentials, process);
}

export function connect(baseUrl, options) {
  return new DevControls(baseUrl, options);
}
