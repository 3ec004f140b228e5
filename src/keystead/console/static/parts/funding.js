// Where to send funds to: a button in a table, and the dialogue with the address and its QR code that it opens.
import { html } from "../vendor/preact.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { Qr } from "./qr.js";
import { Copy } from "./texts.js";

/** @param {{address: string, onShow: () => void}} properties */
export function FundButton({ address, onShow }) {
  return html`<button type="button" class="button tiny" aria-label=${`Fund ${address}`} onClick=${onShow}><${Icon} name="qr" />Fund</button>`;
}

/** @param {{title: string, address: string, onClose: () => void}} properties */
export function FundDialog({ title, address, onClose }) {
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Qr} text=${address} label=${`QR code of ${address}`} />
    <p class="centered"><${Copy} text=${address} label="address" /></p>
    <p class="small muted">Send to this address from another wallet or an exchange. On a test network, give it to a faucet.</p><//>`;
}
