// The methods of the developer's controls. Made by `make generate` from keystead.api.developer_controls. Do not edit.

import { distanceMs, milliseconds } from "./times.js";

export class Clock {
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

  async set(moment) {
    return new Date((await this.#controls.change("clock", { nowMs: milliseconds(moment) })).nowMs);
  }

  async advance(distance) {
    return new Date((await this.#controls.change("clock", { advanceMs: distanceMs(distance) })).nowMs);
  }

  async freeze(moment) {
    return new Date((await this.#controls.change("clock", { frozen: true, nowMs: milliseconds(moment) })).nowMs);
  }

  async resume() {
    return new Date((await this.#controls.change("clock", { frozen: false })).nowMs);
  }

  async reset() {
    return new Date((await this.#controls.change("clock", { system: true, systemTimeAccepted: true })).nowMs);
  }

  async acceptSystemTime(accepted) {
    return new Date((await this.#controls.change("clock", { systemTimeAccepted: accepted })).nowMs);
  }
}

export class Faults {
  #controls;

  constructor(controls) {
    this.#controls = controls;
  }

  async fail(status = 503, { count = 1, path = "" } = {}) {
    await this.#controls.change("faults", { status, count, path });
  }

  async cut({ count = 1, path = "" } = {}) {
    await this.#controls.change("faults", { cut: true, count, path });
  }

  async slow(delayMs, { count = 1, path = "" } = {}) {
    await this.#controls.change("faults", { delayMs, count, path });
  }

  async clear() {
    await this.#controls.change("faults", { clear: true });
  }
}

export class Methods {
  #controls;

  constructor(controls) {
    this.#controls = controls;
  }

  async nextOutcome(activityType, status, { count = 1 } = {}) {
    await this.#controls.change("outcomes", { type: activityType, status, count });
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
    await this.#controls.change("reset", { organizationId });
  }
}
