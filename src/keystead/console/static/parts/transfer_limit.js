// The condition of "transfers to one address, up to an amount", written as an address and an amount in ether are typed.
import { transfersTo } from "../api/policy_examples.js";
import { html, useState } from "../vendor/preact.js";

const DIGITS = 18;

/** Wei of an amount in ether, such as "0.25"; undefined where it is none. @param {string} ether */
function weiOf(ether) {
  const [, whole, rest = ""] = /^(\d+)(?:\.(\d{1,18}))?$/.exec(ether.trim()) ?? [];
  return whole === undefined ? undefined : BigInt(whole + rest.padEnd(DIGITS, "0"));
}

/** @param {string} address */
function isAddress(address) {
  return /^0x[0-9a-fA-F]{40}$/.test(address.trim());
}

/** @param {{onWrite: (condition: string) => void}} properties `onWrite`: with each change, once both can be read */
export function TransferLimit({ onWrite }) {
  const [address, setAddress] = useState("");
  const [ether, setEther] = useState("0.1");
  const write = (/** @type {string} */ address, /** @type {string} */ ether) => {
    setAddress(address);
    setEther(ether);
    const wei = weiOf(ether);
    if (isAddress(address) && wei !== undefined) onWrite(transfersTo(address.trim(), wei));
  };
  return html`<div class="group-box limit" role="group" aria-label="Transfers to one address, up to an amount">
    <div class="field"><label for="limit-address">To the address</label><input id="limit-address" class="input mono" autocomplete="off" spellcheck=${false} placeholder="0x…" value=${address} onInput=${(/** @type {any} */ event) => write(event.target.value, ether)} />
      ${address && !isAddress(address) ? html`<span class="problem">An address is 0x and 40 characters of 0-9 and a-f.</span>` : html`<span class="hint">It is written into the condition.</span>`}</div>
    <div class="field"><label for="limit-ether">At most, in ETH</label><input id="limit-ether" class="input" inputmode="decimal" autocomplete="off" value=${ether} onInput=${(/** @type {any} */ event) => write(address, event.target.value)} />
      ${ether && weiOf(ether) === undefined ? html`<span class="problem">An amount is a number such as 0.25.</span>` : null}</div></div>`;
}
