// The developer's controls: clock, faults, outbox, webhooks, organizations, snapshots. Not here: HTTP (requests.js).

import { setTimeout as pause } from "node:timers/promises";
import { Controls, KeysteadError } from "./requests.js";

const LOOK_AGAIN_MS = 20;
const UNITS_MS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1000, milliseconds: 1 };

class Clock {
  #controls;

  constructor(controls) {
    this.#controls = controls;
  }

  async now() {
    return new Date((await this.#controls.read("clock")).nowMs);
  }

  async isFrozen() {
    return (await this.#controls.read("clock")).frozen;
  }

  set(moment) {
    return this.#change({ nowMs: moment.getTime() });
  }

  advance(distance) {
    let advanceMs = 0;
    for (const [unit, count] of Object.entries(distance)) {
      if (!(unit in UNITS_MS)) {
        throw new KeysteadError(`no such unit: ${unit}; there are ${Object.keys(UNITS_MS).join(", ")}`);
      }
      advanceMs += Math.round(count * UNITS_MS[unit]);
    }
    return this.#change({ advanceMs });
  }

  freeze(moment) {
    return this.#change(moment === undefined ? { frozen: true } : { frozen: true, nowMs: moment.getTime() });
  }

  resume() {
    return this.#change({ frozen: false });
  }

  reset() {
    return this.#change({ system: true, systemTimeAccepted: true });
  }

  acceptSystemTime(accepted) {
    return this.#change({ systemTimeAccepted: accepted });
  }

  async #change(change) {
    return new Date((await this.#controls.change("clock", change)).nowMs);
  }
}

class Faults {
  #controls;

  constructor(controls) {
    this.#controls = controls;
  }

  fail(status = 503, { count = 1, path = "" } = {}) {
    return this.#add({ status, count, path });
  }

  cut({ count = 1, path = "" } = {}) {
    return this.#add({ cut: true, count, path });
  }

  slow(delayMs, { count = 1, path = "" } = {}) {
    return this.#add({ delayMs, count, path });
  }

  clear() {
    return this.#add({ clear: true });
  }

  async #add(fault) {
    await this.#controls.change("faults", fault);
  }
}

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

export class DevControls {
  #controls;
  #caFile;

  constructor(baseUrl, { caFile } = {}) {
    this.#controls = new Controls(baseUrl, caFile);
    this.#caFile = caFile;
    this.clock = new Clock(this.#controls);
    this.faults = new Faults(this.#controls);
    this.outbox = new Outbox(this.#controls);
    this.webhooks = new Webhooks(this.#controls);
  }

  get baseUrl() {
    return this.#controls.baseUrl;
  }

  async newOrganization({ name = "Test", wallet = false } = {}) {
    const made = await this.#controls.change("organizations", { name, wallet });
    return { baseUrl: this.baseUrl, ...made, ...(this.#caFile && { caFile: this.#caFile }) };
  }

  async nextOutcome(type, status, { count = 1 } = {}) {
    await this.#controls.change("outcomes", { type, status, count });
  }

  async clearOutcomes() {
    await this.#controls.change("outcomes", { clear: true });
  }

  async limitRate(perSecond) {
    await this.#controls.change("rate-limit", { perSecond });
  }

  async requests() {
    return (await this.#controls.read("requests")).requests;
  }

  async forgetRequests() {
    await this.#controls.change("requests", { clear: true });
  }

  async snapshot(name) {
    await this.#controls.change("snapshots", { name });
  }

  async snapshots() {
    return (await this.#controls.read("snapshots")).snapshots;
  }

  async restore(name) {
    await this.#controls.change("restore", { name });
  }

  async reset(organizationId) {
    await this.#controls.change("reset", organizationId === undefined ? {} : { organizationId });
  }
}
