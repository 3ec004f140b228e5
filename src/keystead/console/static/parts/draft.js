// What a person typed and has not sent yet: kept in this tab over a reload, and over a log-in of the same person.
import { useState } from "../vendor/preact.js";
import { session } from "../session/session.js";

/**
 * Like useState. `initial` is not kept: what equals it is forgotten.
 * @template T
 * @param {string} name of the form
 * @param {() => T} initial
 * @returns {{value: T, set: (value: T) => void, wasKept: boolean, forget: () => void}} `wasKept`: it is of before a reload. `forget`:
 *   back to the initial value
 */
export function useDraft(name, initial) {
  const key = `draft ${session.peek()?.userId ?? ""} ${name}`;
  const [state, setState] = useState(() => {
    const kept = sessionStorage.getItem(key);
    return kept === null ? { value: initial(), wasKept: false } : { value: /** @type {T} */ (JSON.parse(kept)), wasKept: true };
  });
  const set = (/** @type {T} */ value) => {
    keep(key, JSON.stringify(value), JSON.stringify(initial()));
    setState({ value, wasKept: false });
  };
  const forget = () => {
    sessionStorage.removeItem(key);
    setState({ value: initial(), wasKept: false });
  };
  return { ...state, set, forget };
}

/** A browser that has no room for it keeps nothing. @param {string} key @param {string} text @param {string} initial */
function keep(key, text, initial) {
  try {
    if (text === initial) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    sessionStorage.removeItem(key);
  }
}
