// A form for any JSON Schema of the catalogue: one field for each member, nested where the schema is.
import { html, useId } from "../vendor/preact.js";
import { ACCOUNTS, emptyOf, plain } from "../api/forms.js";
import { chosenFrom, choices } from "../api/choices.js";
import { fieldInWords, valueInWords } from "../words.js";
import { AccountField } from "./account_chooser.js";
import { ApiKeyMaker, PasskeyMaker } from "./credential_makers.js";
import { Icon } from "./icons.js";
import { useLoaded } from "./loaded.js";

/**
 * @typedef {object} FieldProperties
 * @property {string} name of the member
 * @property {any} schema
 * @property {import("../api/forms.js").Schemas} all
 * @property {any} value
 * @property {(value: any) => void} onChange
 * @property {boolean} [isRequired]
 */

const LONG_TEXT = 1000;

/** What a field is for, where its name does not say it. @type {Record<string, string>} */
const HINTS = {
  apiKeys: "API keys are for programs, and for people who log in with a key file.",
  authenticators: "Passkeys are for people. A passkey that you create here stays on this device. For a person at another device, create an API key: that person logs in with its file and adds a passkey on their own page.",
  oauthProviders: "Identities of people at an OpenID Connect issuer.",
  threshold: "How many of the members must approve.",
  cidr: "Such as 192.0.2.0/24, or one address.",
};

/** @param {{name: string}} properties */
function Hint({ name }) {
  return HINTS[name] ? html`<span class="hint">${HINTS[name]}</span>` : null;
}

/** The members of an object, those that are required first. @param {{schema: any, all: any, value: any, onChange: (value: any) => void}} properties */
export function ObjectFields({ schema, all, value, onChange }) {
  const inner = plain(schema, all);
  const required = new Set(inner.required ?? []);
  const members = Object.entries(inner.properties ?? {}).filter(([, part]) => !isUnsupported(part, all));
  const field = (/** @type {[string, any]} */ [name, part]) => html`<${Field} key=${name} name=${name} schema=${part} all=${all} value=${value[name]}
    isRequired=${required.has(name)} onChange=${(/** @type {any} */ changed) => onChange({ ...value, [name]: changed })} />`;
  const optional = members.filter(([name]) => !required.has(name));
  const isOpen = optional.some(([name]) => value[name] !== undefined && value[name] !== "");
  return html`${maker(inner.title, value, onChange)}
    ${members.filter(([name]) => required.has(name) && !isMade(inner.title, name)).map(field)}
    ${optional.length > 3 ? html`<details open=${isOpen || undefined}><summary class="muted">${optional.length} optional fields</summary><div class="stack spaced">${optional.map(field)}</div></details>`
      : optional.map(field)}`;
}

/** Members that this server refuses are declared by a schema that nothing fits. @param {any} schema @param {any} all */
function isUnsupported(schema, all) {
  const inner = plain(schema, all);
  return inner.not !== undefined || inner.enum?.length === 0 || inner.type === "null" || inner.pattern === "^$";
}

/** @param {string | undefined} title @param {any} value @param {(value: any) => void} onChange */
function maker(title, value, onChange) {
  if (title?.startsWith("AuthenticatorParams")) return html`<${PasskeyMaker} value=${value} onChange=${onChange} />`;
  if (title?.startsWith("ApiKeyParams")) return html`<${ApiKeyMaker} value=${value} onChange=${onChange} />`;
  if (title === "WebhookSubscription") return html`<div class="row" role="group" aria-label="Ready-made subscriptions"><button type="button" class="button tiny"
    onClick=${() => onChange({ ...value, eventType: "ACTIVITY_UPDATES" })}>Every activity</button></div>`;
  if (title !== "WalletAccountParams") return null;
  const names = Object.keys(ACCOUNTS);
  return html`<div class="row" role="group" aria-label="Ready-made accounts">${names.map((name) => html`<button type="button" class="button tiny"
    onClick=${() => onChange({ ...value, ...ACCOUNTS[/** @type {keyof typeof ACCOUNTS} */ (name)] })}>${name}</button>`)}</div>`;
}

/** What the browser makes is not typed. @param {string | undefined} title @param {string} name */
function isMade(title, name) {
  return Boolean(title?.startsWith("AuthenticatorParams")) && (name === "challenge" || name === "attestation");
}

/** @param {FieldProperties} properties */
function Field(properties) {
  const inner = plain(properties.schema, properties.all);
  const kind = chosenFrom(properties.name);
  if (inner.type === "array") {
    if (kind) return html`<${ChosenMany} ...${properties} kind=${kind} />`;
    return html`<${ListField} ...${properties} />`;
  }
  if (inner.type === "object" && inner.properties) return html`<${ObjectField} ...${properties} />`;
  if (inner.enum) return html`<${Labelled} ...${properties}>${(/** @type {any} */ attributes) => html`<${Options} ...${properties} attributes=${attributes} values=${inner.enum} prefix=${commonPrefix(inner.enum) || prefixOf(properties.name)} />`}<//>`;
  if (inner.type === "boolean") return html`<${BooleanField} ...${properties} />`;
  if (kind) return html`<${ChosenOne} ...${properties} kind=${kind} />`;
  if (properties.name === "signWith") return html`<${AccountField} value=${properties.value} onChange=${properties.onChange} />`;
  return html`<${TextField} ...${properties} />`;
}

/** A label, the control that `children` makes, and what belongs to both. @param {FieldProperties & {children: (attributes: any) => any}} properties */
function Labelled({ name, isRequired, children }) {
  const id = useId();
  return html`<div class="field"><label for=${id}>${fieldInWords(name)}${isRequired ? null : html` <span class="muted small">(optional)</span>`}</label>
    ${children({ id, required: isRequired })}<${Hint} name=${name} /></div>`;
}

/** @param {FieldProperties} properties */
function TextField(properties) {
  const { schema, all, value, onChange, name } = properties;
  const inner = plain(schema, all);
  const isNumber = inner.type === "integer" || inner.type === "number";
  const isLong = !isNumber && name !== "path" && ((inner.maxLength ?? 0) >= LONG_TEXT || /interface|transaction|payload$/i.test(name));
  const type = (/** @type {any} */ event) => onChange(event.target.value);
  return html`<${Labelled} ...${properties}>${(/** @type {any} */ attributes) => (isLong
    ? html`<textarea ...${attributes} class="input mono" spellcheck=${false} value=${value ?? ""} onInput=${type}></textarea>`
    : html`<input ...${attributes} class="input" type=${isNumber ? "number" : "text"} autocomplete="off" spellcheck=${false} maxLength=${inner.maxLength} value=${value ?? ""} onInput=${type} />`)}<//>`;
}

/** @param {FieldProperties & {attributes: any, values: string[], prefix: string}} properties */
function Options({ attributes, values, prefix, value, onChange }) {
  return html`<select ...${attributes} class="input" value=${value ?? ""} onChange=${(/** @type {any} */ event) => onChange(event.target.value)}>
    <option value="">Choose</option>
    ${values.map((each) => html`<option value=${each}>${valueInWords(each, prefix)}</option>`)}
  </select>`;
}

/** @param {FieldProperties} properties */
function BooleanField(properties) {
  const { name, value, onChange, isRequired } = properties;
  const id = useId();
  if (isRequired) {
    return html`<div class="check"><input id=${id} type="checkbox" checked=${Boolean(value)} onChange=${(/** @type {any} */ event) => onChange(event.target.checked)} /><label for=${id}>${fieldInWords(name)}</label></div>`;
  }
  const text = value === undefined ? "" : String(value);
  return html`<${Labelled} ...${properties}>${(/** @type {any} */ attributes) => html`<select ...${attributes} class="input" value=${text}
    onChange=${(/** @type {any} */ event) => onChange(event.target.value === "" ? undefined : event.target.value === "true")}>
    <option value="">Default</option><option value="true">Yes</option><option value="false">No</option></select>`}<//>`;
}

/** @param {FieldProperties & {kind: string}} properties */
function ChosenOne(properties) {
  const { kind, value, onChange } = properties;
  const offered = useLoaded(() => choices(kind), [kind]);
  if (!offered.value) return html`<${TextField} ...${properties} />`;
  return html`<${Labelled} ...${properties}>${(/** @type {any} */ attributes) => html`<select ...${attributes} class="input" value=${value ?? ""} onChange=${(/** @type {any} */ event) => onChange(event.target.value)}>
    <option value="">Choose</option>
    ${offered.value?.map(({ id, name }) => html`<option value=${id}>${name}</option>`)}</select>`}<//>`;
}

/** @param {FieldProperties & {kind: string}} properties */
function ChosenMany(properties) {
  const { kind, name, value, onChange } = properties;
  const offered = useLoaded(() => choices(kind), [kind]);
  const chosen = new Set(value ?? []);
  if (!offered.value) return html`<${ListField} ...${properties} />`;
  const change = (/** @type {string} */ id, /** @type {boolean} */ isOn) => onChange(isOn ? [...chosen, id] : [...chosen].filter((each) => each !== id));
  return html`<fieldset class="group-box choices"><legend>${fieldInWords(name.replace(/yIds$/, "ies").replace(/Ids$/, "s"))}</legend>
    ${offered.value.length ? offered.value.map((each) => html`<label class="check" key=${each.id}><input type="checkbox" checked=${chosen.has(each.id)}
      onChange=${(/** @type {any} */ event) => change(each.id, event.target.checked)} /><span class="wrap">${each.name}</span></label>`)
      : html`<span class="muted">There are none to choose from.</span>`}</fieldset>`;
}

/** @param {FieldProperties} properties */
function ObjectField({ name, schema, all, value, onChange, isRequired }) {
  if (value === undefined) {
    return html`<div><button type="button" class="button" onClick=${() => onChange(emptyOf(schema, all))}><${Icon} name="plus" />${fieldInWords(name)}</button></div>`;
  }
  return html`<fieldset class="group-box"><legend>${fieldInWords(name)}</legend>
    <${ObjectFields} schema=${schema} all=${all} value=${value} onChange=${onChange} />
    ${isRequired ? null : html`<div><button type="button" class="button tiny" onClick=${() => onChange(undefined)}>Leave it out</button></div>`}</fieldset>`;
}

/** @param {FieldProperties} properties */
function ListField({ name, schema, all, value, onChange }) {
  const { items } = plain(schema, all);
  const list = value ?? [];
  const isObject = plain(items, all).type === "object";
  const change = (/** @type {number} */ index, /** @type {any} */ item) => onChange(list.map((/** @type {any} */ each, /** @type {number} */ at) => (at === index ? item : each)));
  const title = fieldInWords(name);
  const remove = (/** @type {number} */ index) => html`<button type="button" class="button tiny" aria-label=${`Remove ${title} ${index + 1}`}
    onClick=${() => onChange(list.filter((/** @type {any} */ _, /** @type {number} */ at) => at !== index))}><${Icon} name="cross" />Remove</button>`;
  return html`<fieldset class="group-box"><legend>${title}</legend><${Hint} name=${name} />
    ${list.map((/** @type {any} */ item, /** @type {number} */ index) => (isObject
      ? html`<fieldset class="group-box item"><legend class="visually-hidden">${title} ${index + 1}</legend>
          <${ObjectFields} schema=${items} all=${all} value=${item} onChange=${(/** @type {any} */ changed) => change(index, changed)} />
          <div>${remove(index)}</div></fieldset>`
      : html`<div class="row nowrap"><${Field} name=${`${name} ${index + 1}`} schema=${items} all=${all} value=${item} isRequired onChange=${(/** @type {any} */ changed) => change(index, changed)} />${remove(index)}</div>`))}
    <div><button type="button" class="button" onClick=${() => onChange([...list, emptyOf(items, all)])}><${Icon} name="plus" />Add ${list.length ? "another " : ""}${singular(title)}</button></div></fieldset>`;
}

/** "API keys" is "API key". @param {string} title */
function singular(title) {
  const one = title.replace(/ies$/, "y").replace(/sses$/, "ss").replace(/([^s])s$/, "$1");
  return /^[A-Z]{2}/.test(one) || one.startsWith("OAuth") ? one : one.charAt(0).toLowerCase() + one.slice(1);
}

/** What all words of an enum begin with, up to an underscore. @param {string[]} values */
function commonPrefix(values) {
  const [first, ...others] = values;
  if (!others.length) return "";
  let prefix = first.slice(0, first.lastIndexOf("_") + 1);
  while (prefix && !others.every((each) => each.startsWith(prefix))) prefix = prefix.slice(0, prefix.slice(0, -1).lastIndexOf("_") + 1);
  return prefix;
}

/** What the one word of an enum most likely begins with: PATH_FORMAT_ of pathFormat. @param {string} field */
function prefixOf(field) {
  return `${field.replace(/([A-Z])/g, "_$1").toUpperCase()}_`;
}
