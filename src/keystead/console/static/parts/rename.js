// A dialogue that gives something another name.
import { html, useId, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { go, to } from "../router.js";
import { isWaiting } from "../words.js";
import { Notice, messageOf, tell } from "./notice.js";

/**
 * @param {{title: string, name: string, operation: string, parametersOf: (name: string) => Record<string, unknown>, onClose: () => void, onRenamed: () => void}} properties
 *   `name`: the one that it has. `operation`: that renames it, such as update_wallet
 */
export function Rename({ title, name, operation, parametersOf, onClose, onRenamed }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [typed, setTyped] = useState(name);
  const [problem, setProblem] = useState("");
  const id = useId();
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const activity = await submit(operation, `ACTIVITY_TYPE_${operation.toUpperCase()}`, parametersOf(typed.trim()));
      dialog.current?.close();
      if (isWaiting(activity)) return go(to(["activities", activity.id]));
      tell("The name was changed.");
      onRenamed();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return html`<dialog ref=${dialog} aria-label=${title} onClose=${onClose}><form class="inside" onSubmit=${save}><h2>${title}</h2>
    <div class="field"><label for=${id}>Name</label><input id=${id} class="input" required maxLength="255" autocomplete="off" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></div>
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
    <div class="actions"><button type="button" class="button" onClick=${() => dialog.current?.close()}>Cancel</button><button class="button primary" disabled=${!typed.trim() || typed.trim() === name}>Save</button></div></form></dialog>`;
}
