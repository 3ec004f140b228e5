// Values that are fetched: loading, there, or refused.
import { html, useCallback, useEffect, useRef, useState } from "../vendor/preact.js";
import { Notice, messageOf } from "./notice.js";

/**
 * @template T
 * @typedef {{value: T | undefined, error: unknown, isLoading: boolean, reload: () => Promise<void>}} Loading
 */

/**
 * Fetches once, and again when a key changes. An answer that comes after a later request is dropped.
 * @template T
 * @param {() => Promise<T>} load
 * @param {unknown[]} keys
 * @returns {Loading<T>}
 */
export function useLoaded(load, keys) {
  const [state, setState] = useState(/** @type {{value?: T, error?: unknown, isLoading: boolean}} */ ({ isLoading: true }));
  const turn = useRef(0);
  const reload = useCallback(async () => {
    const mine = ++turn.current;
    try {
      const value = await load();
      if (mine === turn.current) setState({ value, isLoading: false });
    } catch (error) {
      if (mine === turn.current) setState((before) => ({ value: before.value, error, isLoading: false }));
    }
  }, keys);
  useEffect(() => {
    setState({ isLoading: true });
    reload();
    return () => void (turn.current += 1);
  }, [reload]);
  return { value: state.value, error: state.error, isLoading: state.isLoading, reload };
}

/** Calls `act` again and again while the page is visible. @param {() => void} act @param {number} everyMs @param {unknown[]} keys */
export function useRepeated(act, everyMs, keys) {
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && act(), everyMs);
    return () => clearInterval(timer);
  }, keys);
}

/**
 * @param {{of: Loading<any>, children: (value: any) => any}} properties
 */
export function Loaded({ of, children }) {
  if (of.value !== undefined) {
    return html`${of.error ? html`<${Notice} kind="bad">${messageOf(of.error)}<//>` : null}${children(of.value)}`;
  }
  if (of.error) return html`<${Notice} kind="bad">${messageOf(of.error)}<//>`;
  return html`<div class="loading" role="status">Loading…</div>`;
}
