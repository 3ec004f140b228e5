// A field that chooses what signs: the accounts of wallets and the private keys, by their names and addresses.
import { html, useEffect, useState } from "../vendor/preact.js";
import { accountsCalled, firstAccounts, isLikeAddress, ofAddress } from "../api/accounts.js";
import { Icon } from "./icons.js";
import { Loaded, useLoaded } from "./loaded.js";
import { Empty } from "./texts.js";

const SHOWN_MAX = 8;
const TYPED_MS = 300;

/** @typedef {import("../api/accounts.js").Signing} Signing */

/** The same as a part of a form, whose value is the address or the id. @param {{value: string | undefined, onChange: (signWith: string) => void}} properties */
export function AccountField({ value, onChange }) {
  const [chosen, setChosen] = useState(/** @type {Signing | null} */ (null));
  const choose = (/** @type {Signing | null} */ account) => {
    setChosen(account);
    onChange(account?.signWith ?? "");
  };
  return html`<${AccountChooser} chosen=${value ? (chosen?.signWith === value ? chosen : ofAddress(value)) : null} onChoose=${choose} />`;
}

/** @param {{chosen: Signing | null, onChoose: (account: Signing | null) => void}} properties */
export function AccountChooser({ chosen, onChoose }) {
  const first = useLoaded(firstAccounts, []);
  const [sought, setSought] = useState("");
  const [further, setFurther] = useState(/** @type {Signing[]} */ ([]));
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const isAll = first.value?.isAll ?? true;
  useEffect(() => {
    setFurther([]);
    if (isAll || !words.length) return undefined;
    let isWanted = true;
    const timer = setTimeout(() => void accountsCalled(words).then((found) => isWanted && setFurther(found), () => undefined), TYPED_MS); // the first ones are still there
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [sought, isAll]);
  if (chosen) {
    return html`<div class="field"><span class="label">Sign with</span><div class="chosen"><${Icon} name="key" /><span class="wrap"><b>${chosen.name}</b><span class="small muted block">${chosen.what}</span></span>
      <button type="button" class="button tiny" onClick=${() => onChoose(null)}>Change</button></div></div>`;
  }
  return html`<${Loaded} of=${first}>${(/** @type {{found: Signing[], isAll: boolean}} */ { found }) => {
    if (!found.length && isAll) return html`<${Empty} title="Nothing can sign yet" action=${html`<a class="button primary" href="#/wallets/new">New wallet</a>`}>A wallet has accounts, and each account signs with its own key.<//>`;
    const all = [...new Map([...found, ...further].map((each) => [each.signWith, each])).values()];
    const fitting = all.filter(({ name, what, signWith }) => words.every((word) => `${name} ${what} ${signWith}`.toLowerCase().includes(word)));
    const address = sought.trim();
    const offered = !fitting.length && !isAll && isLikeAddress(address) ? [ofAddress(address)] : fitting;
    return html`<fieldset class="choosing"><legend class="label">Sign with</legend>
      ${all.length > SHOWN_MAX || !isAll ? html`<input class="input" type="search" placeholder="Find by name or address" aria-label="Find by name or address" value=${sought} onInput=${(/** @type {any} */ event) => setSought(event.target.value)} />` : null}
      <ul class="options">${offered.slice(0, SHOWN_MAX).map((account) => html`<li key=${account.signWith}><button type="button" class="option" onClick=${() => (setSought(""), onChoose(account))}>
        <b class="wrap">${account.name}</b><span class="small muted">${account.what}</span></button></li>`)}</ul>
      ${offered.length ? null : html`<p class="muted small" role="status">Nothing has these words in its name or address.</p>`}
      ${offered.length > SHOWN_MAX || (!isAll && !words.length) ? html`<p class="muted small">There are more: type a part of the name or the whole address.</p>` : null}</fieldset>`;
  }}<//>`;
}
