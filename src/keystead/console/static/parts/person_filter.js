// A filter by person: a list to choose from, or where there are very many, a field that finds one by name.
import { html, useState } from "../vendor/preact.js";
import { people } from "../api/people.js";
import { useLoaded } from "./loaded.js";

const LISTED_MAX = 200;
const OFFERED_MAX = 20;

/** @param {{id: string, userId: string, onChoose: (userId: string) => void}} properties `id`: of the field. `userId`: "" for anybody */
export function PersonFilter({ id, userId, onChoose }) {
  const loaded = useLoaded(people, []);
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const all = loaded.value ?? [];
  if (all.length <= LISTED_MAX) {
    return html`<div class="field"><label for=${id}>Person</label><select id=${id} class="input" value=${userId} onChange=${(/** @type {any} */ event) => onChoose(event.target.value)}>
      <option value="">Anybody</option>${all.map((each) => html`<option value=${each.id}>${each.name}</option>`)}</select></div>`;
  }
  const text = typed ?? all.find((each) => each.id === userId)?.name ?? "";
  const offered = text ? all.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase())).slice(0, OFFERED_MAX) : [];
  const type = (/** @type {any} */ event) => {
    setTyped(event.target.value);
    onChoose(all.find(({ name }) => name === event.target.value)?.id ?? "");
  };
  return html`<div class="field"><label for=${id}>Person</label><input id=${id} class="input" type="search" list=${`${id}-names`} autocomplete="off" placeholder="Anybody" value=${text} onInput=${type} />
    <datalist id=${`${id}-names`}>${offered.map((each) => html`<option key=${each.id} value=${each.name} />`)}</datalist></div>`;
}
