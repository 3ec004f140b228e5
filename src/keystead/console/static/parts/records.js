// What the pages of records share: lists that are read once when a screen opens, and links to the actions on a record.
import { html } from "../vendor/preact.js";
import { forgetLists, listed } from "../api/calls.js";
import { to } from "../router.js";
import { Icon } from "./icons.js";
import { useLoaded } from "./loaded.js";

/**
 * The records of a list query, asked anew when the screen opens.
 * @param {string} name the query
 * @param {string} member of its answer
 * @returns {import("./loaded.js").Loading<any[]>}
 */
export function useRecords(name, member) {
  return useLoaded(async () => {
    forgetLists();
    return (await listed(name))[member];
  }, [name]);
}

/**
 * A link to the form of an operation, with some of its fields filled.
 * @param {{operation: string, fields?: Record<string, string>, danger?: boolean, children?: any}} properties
 */
export function ActionLink({ operation, fields = {}, danger = false, children }) {
  return html`<a class=${`button ${danger ? "danger" : ""}`} href=${to(["actions", operation], fields)}>
    ${operation.startsWith("create_") ? html`<${Icon} name="plus" />` : null}${children}</a>`;
}
