// One question before something that cannot be undone: what it will do, in a line.
import { html, useLayoutEffect, useRef } from "../vendor/preact.js";

/** @param {{title: string, what: any, note: string, action: string, isDanger?: boolean, onAnswer: (isYes: boolean) => void}} properties `what`: what it will do. `note`: what follows from it */
export function Confirm({ title, what, note, action, isDanger = false, onAnswer }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const yes = useRef(/** @type {HTMLButtonElement | null} */ (null));
  useLayoutEffect(() => {
    dialog.current?.showModal();
    yes.current?.focus();
  }, []);
  return html`<dialog ref=${dialog} aria-label=${title} onClose=${() => onAnswer(false)}><div class="inside"><h2>${title}</h2>
    <p class="wrap"><b>${what}</b></p><p class="muted">${note}</p>
    <div class="actions"><button type="button" class="button" onClick=${() => dialog.current?.close()}>Cancel</button>
      <button ref=${yes} type="button" class=${`button primary ${isDanger ? "danger-fill" : ""}`} onClick=${() => onAnswer(true)}>${action}</button></div></div></dialog>`;
}
