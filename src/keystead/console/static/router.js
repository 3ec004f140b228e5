// Where the person is: the fragment of the address, such as #/activities/ID?tab=votes.
import { signal } from "./vendor/preact.js";

/** @typedef {{path: string, parts: string[], parameters: URLSearchParams}} Place */

/** @returns {Place} */
function read() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: `/${path}`, parts: path.split("/").filter(Boolean).map(decoded), parameters: new URLSearchParams(search) };
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = signal(read());

/** Whether the person came here from another screen, whose heading had the focus or not: the new heading takes it. */
let isArrival = false;

addEventListener("hashchange", () => {
  const before = place.value.path;
  place.value = read();
  isArrival ||= place.value.path !== before;
});

/** Once after each way to another screen. */
export function takeArrival() {
  const was = isArrival;
  isArrival = false;
  return was;
}

/**
 * The address of a screen.
 * @param {string[]} parts
 * @param {Record<string, string | undefined>} parameters those that are "" or undefined are left out
 */
export function to(parts, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(/** @type {[string, string][]} */ (given)).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

/** @param {string} address */
export function go(address) {
  location.hash = address;
}

/** Changes the parameters of the address without a step in the browser's history. @param {Record<string, string | undefined>} changes */
export function refine(changes) {
  const parameters = { ...Object.fromEntries(place.value.parameters), ...changes };
  history.replaceState(null, "", to(place.value.parts, parameters));
  place.value = read();
}
