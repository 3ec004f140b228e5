// The QR code of an address: a button in a table, and the dialogue that it opens.
import { html } from "../vendor/preact.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";
import { Qr } from "./qr.js";
import { Copy } from "./texts.js";

/** @param {{address: string, onShow: () => void}} properties */
export function CodeButton({ address, onShow }) {
  return html`<button type="button" class="button plain icon-only tiny" aria-label=${`QR code of ${address}`} onClick=${onShow}><${Icon} name="qr" /></button>`;
}

/** @param {{title: string, address: string, onClose: () => void}} properties `title`: the format of the address */
export function AddressCode({ title, address, onClose }) {
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Qr} text=${address} label=${`QR code of ${address}`} />
    <p class="centered"><${Copy} text=${address} label="address" /></p><//>`;
}
