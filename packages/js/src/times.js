// Times as the developer's controls take them: milliseconds since the epoch, and milliseconds.

import { KeysteadError } from "./requests.js";

const UNITS_MS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1000, milliseconds: 1 };

export function milliseconds(moment) {
  return moment?.getTime();
}

export function distanceMs(distance) {
  let sum = 0;
  for (const [unit, count] of Object.entries(distance)) {
    if (!(unit in UNITS_MS)) {
      throw new KeysteadError(`no such unit: ${unit}; there are ${Object.keys(UNITS_MS).join(", ")}`);
    }
    sum += Math.round(count * UNITS_MS[unit]);
  }
  return sum;
}
