// A dialogue over the page, with the browser's own <dialog>: it keeps the focus and closes with Escape.
import { html, useLayoutEffect, useRef } from "../vendor/preact.js";

/** @param {{title: string, onClose: () => void, children?: any, actions?: any}} properties */
export function Dialog({ title, onClose, children, actions }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} onClose=${onClose} aria-label=${title}>
    <div class="inside"><h2>${title}</h2>${children}
      <div class="actions"><button type="button" class="button" onClick=${() => dialog.current?.close()}>Close</button>${actions}</div>
    </div>
  </dialog>`;
}
