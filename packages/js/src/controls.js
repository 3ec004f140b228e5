// What the package adds to the declared methods (methods.js): waiting for messages and webhooks, credentials.
// Not here: HTTP (requests.js).

import { setTimeout as pause } from "node:timers/promises";
import { Clock, Faults, Methods } from "./methods.js";
import { Controls, KeysteadError } from "./requests.js";

const LOOK_AGAIN_MS = 20;

class Outbox {
  #controls;

  constructor(controls) {
    this.#controls = controls;
  }

  async messages(recipient) {
    const { messages } = await this.#controls.read("outbox");
    const sent = messages.map(({ sentAtMs, message }) => ({ sentAt: new Date(sentAtMs), ...message }));
    return sent.filter((one) => recipient === undefined || one.recipient.toLowerCase() === recipient.toLowerCase());
  }

  async waitFor(recipient, { count = 1, timeoutMs = 10_000 } = {}) {
    let found = [];
    // Attempts are counted and not timed: a test may have replaced the clock of this process.
    for (let left = timeoutMs / LOOK_AGAIN_MS; left > 0; left -= 1) {
      found = await this.messages(recipient);
      if (found.length >= count) {
        return found.at(-1);
      }
      await pause(LOOK_AGAIN_MS);
    }
    throw new KeysteadError(`${found.length} of ${count} messages to ${recipient} after ${timeoutMs} ms`);
  }

  async code(recipient, options) {
    return (await this.waitFor(recipient, options)).secret;
  }
}

class Webhooks {
  #controls;

  constructor(controls) {
    this.#controls = controls;
  }

  async sent(endpointId) {
    const { webhooks } = await this.#controls.read("webhooks");
    const all = webhooks.map(({ sentAtMs, ...sent }) => ({ sentAt: new Date(sentAtMs), ...sent }));
    return all.filter((one) => endpointId === undefined || one.endpointId === endpointId);
  }

  async waitFor(activityId, { count = 1, timeoutMs = 10_000 } = {}) {
    let found = [];
    for (let left = timeoutMs / LOOK_AGAIN_MS; left > 0; left -= 1) {
      found = (await this.sent()).filter(({ body }) => JSON.parse(body).id === activityId);
      if (found.length >= count) {
        return found.at(-1);
      }
      await pause(LOOK_AGAIN_MS);
    }
    throw new KeysteadError(`${found.length} of ${count} webhooks of activity ${activityId} after ${timeoutMs} ms`);
  }
}

export class DevControls extends Methods {
  #controls;
  #caFile;

  constructor(baseUrl, { caFile } = {}) {
    const controls = new Controls(baseUrl, caFile);
    super(controls);
    this.#controls = controls;
    this.#caFile = caFile;
    this.clock = new Clock(controls);
    this.faults = new Faults(controls);
    this.outbox = new Outbox(controls);
    this.webhooks = new Webhooks(controls);
  }

  get baseUrl() {
    return this.#controls.baseUrl;
  }

  async newOrganization({ name = "Test", wallet = false } = {}) {
    const made = await this.#controls.change("organizations", { name, wallet });
    return { baseUrl: this.baseUrl, ...made, ...(this.#caFile && { caFile: this.#caFile }) };
  }
}
