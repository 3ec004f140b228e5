// Asks the person before a request is sent that would lock its own sender out by an IP allow-list.
import { html, useState } from "../vendor/preact.js";
import { query } from "../api/calls.js";
import { Dialog } from "./dialog.js";
import { Notice } from "./notice.js";

/** The operations that can do so, each with the member of the query that asks the server. @type {Record<string, string>} */
const MEMBERS = { set_ip_allowlist: "setIpAllowlist", remove_ip_allowlist: "removeIpAllowlist", approve_activity: "approveActivity" };

/**
 * `isMeant`: whether to send this submission; asks if it locks out. `dialog`: to be shown.
 * @returns {{isMeant: (operation: string, parameters: Record<string, unknown>) => Promise<boolean>, dialog: any}}
 */
export function useLockoutQuestion() {
  const [asked, setAsked] = useState(/** @type {{refusal: string, resolve: (isMeant: boolean) => void} | null} */ (null));
  const isMeant = async (/** @type {string} */ operation, /** @type {Record<string, unknown>} */ parameters) => {
    if (!(operation in MEMBERS)) return true;
    const { refusal } = await query("check_ip_allowlist", { [MEMBERS[operation]]: parameters });
    return refusal ? new Promise((resolve) => setAsked({ refusal, resolve })) : true;
  };
  const answer = (/** @type {boolean} */ isYes) => {
    asked?.resolve(isYes);
    setAsked(null);
  };
  const dialog = asked && html`<${Dialog} title="This locks you out" onClose=${() => answer(false)}
    actions=${html`<button type="button" class="button primary danger-fill" onClick=${() => answer(true)}>Send it nevertheless</button>`}>
    <${Notice} kind="bad">Once this is executed, your own requests are refused: ${asked.refusal}.<//>
    <p>Add a network with your address to the rules, or send it from an address that stays on the list. If everybody is locked out,
      only the operator of this server can lift the list: <code>keystead recover ip-allowlist</code></p><//>`;
  return { isMeant, dialog };
}
