// The chains for which a new wallet has its first accounts.
import { html } from "../vendor/preact.js";
import { ACCOUNTS } from "../api/forms.js";

/** @typedef {keyof typeof ACCOUNTS} Chain */

export const CHAINS = /** @type {Chain[]} */ (Object.keys(ACCOUNTS));

/** @param {{chosen: Chain[], onChoose: (chains: Chain[]) => void}} properties */
export function ChainsField({ chosen, onChoose }) {
  const choose = (/** @type {Chain} */ chain, /** @type {boolean} */ isOn) => onChoose(CHAINS.filter((each) => (each === chain ? isOn : chosen.includes(each))));
  return html`<fieldset class="group-box choices"><legend>Addresses on</legend>
    ${CHAINS.map((chain) => html`<label class="check" key=${chain}><input type="checkbox" checked=${chosen.includes(chain)} onChange=${(/** @type {any} */ event) => choose(chain, event.target.checked)} />${chain}</label>`)}
    <span class="hint">More accounts, of these and of other chains, can be added later.</span></fieldset>`;
}

/** @param {Chain[]} chains as the API takes them */
export function accountsOn(chains) {
  return chains.map((chain) => ACCOUNTS[chain]);
}
