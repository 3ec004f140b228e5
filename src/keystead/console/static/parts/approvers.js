// Who must approve, and how many of them: people by name, a number, and the sentence that both mean.
import { html, useId, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { people } from "../api/people.js";
import { Loaded, useLoaded } from "./loaded.js";
import { Notice, messageOf } from "./notice.js";

const SEARCHED_FROM = 12;
const SHOWN_MAX = 50;

/** @typedef {{ids: string[], count: number}} Approvers */

/**
 * @param {{title: string, chosen: Approvers, action: string, sentence: (names: string[], count: number) => string, caution?: (approvers: Approvers) => string,
 *   onSave: (approvers: Approvers) => Promise<void>, onClose: () => void}} properties `caution`: "" for none
 */
export function ApproversDialog({ title, chosen, action, sentence, caution = () => "", onSave, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const loaded = useLoaded(people, []);
  const [approvers, setApprovers] = useState(chosen);
  const [sought, setSought] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const number = useId();
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const { ids, count } = approvers;
  const choose = (/** @type {string} */ id, /** @type {boolean} */ isOn) => {
    const changed = isOn ? [...ids, id] : ids.filter((each) => each !== id);
    setApprovers({ ids: changed, count: Math.max(1, Math.min(count, changed.length)) });
  };
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await onSave(approvers);
      dialog.current?.close();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  const warning = ids.length ? caution(approvers) : "";
  return html`<dialog ref=${dialog} aria-label=${title} onClose=${onClose}><form class="inside" onSubmit=${save}><h2>${title}</h2>
    <${Loaded} of=${loaded}>${(/** @type {import("../api/people.js").Person[]} */ all) => {
      const kept = new Set(all.map(({ id }) => id));
      const named = all.filter(({ id }) => ids.includes(id)).map(({ name }) => name);
      const chosen = all.filter(({ id }) => ids.includes(id));
      const found = all.filter(({ id, name }) => !ids.includes(id) && name.toLowerCase().includes(sought.toLowerCase()));
      const shown = [...chosen, ...found.slice(0, SHOWN_MAX)];
      return html`
        ${all.length > SEARCHED_FROM ? html`<input class="input" type="search" placeholder="Find a person" aria-label="Find a person" value=${sought} onInput=${(/** @type {any} */ event) => setSought(event.target.value)} />` : null}
        <fieldset class="group-box choices"><legend>Approvers</legend>${shown.map(({ id, name, hasJoined }) => html`<label class="check" key=${id}><input type="checkbox" checked=${ids.includes(id)} disabled=${!hasJoined && !ids.includes(id)}
          onChange=${(/** @type {any} */ event) => choose(id, event.target.checked)} /><span class="wrap">${name}${hasJoined ? null : html` <span class="muted small">invited, has not joined yet</span>`}</span></label>`)}</fieldset>
        ${found.length > SHOWN_MAX ? html`<p class="small muted">There are ${(found.length - SHOWN_MAX).toLocaleString("en")} more: type a part of the name.</p>` : null}
        <p class="small muted">Somebody else? <a href="#/users/new">Add a person</a> first.</p>
        <div class="field"><label for=${number}>How many of them must approve</label><select id=${number} class="input narrow" value=${String(count)} disabled=${!ids.length}
          onChange=${(/** @type {any} */ event) => setApprovers({ ids, count: Number(event.target.value) })}>
          ${Array.from({ length: Math.max(ids.length, 1) }, (_, index) => html`<option value=${String(index + 1)}>${index + 1} of ${Math.max(ids.length, 1)}</option>`)}</select></div>
        <${Notice}>${ids.length ? sentence(named, count) : "Choose at least one person."}<//>
        ${ids.some((id) => !kept.has(id)) ? html`<${Notice} kind="warn">An approver who is not a person was taken out.<//>` : null}
        ${warning ? html`<${Notice} kind="warn">${warning}<//>` : null}
        ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}`;
    }}<//>
    <div class="actions"><button type="button" class="button" onClick=${() => dialog.current?.close()}>Cancel</button>
      <button class="button primary" disabled=${isBusy || !ids.length}>${action}</button></div>
  </form></dialog>`;
}
