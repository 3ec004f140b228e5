// Adding a person: who, and how they will log in, by an invitation or by a file with a key.
import { html, useId, useState } from "../vendor/preact.js";
import { listed, submit } from "../api/calls.js";
import { saveKeyFile } from "../parts/credential_makers.js";
import { useDraft } from "../parts/draft.js";
import { useLoaded } from "../parts/loaded.js";
import { Notice, messageOf } from "../parts/notice.js";
import { Card, Copy, Heading } from "../parts/texts.js";
import { place, to } from "../router.js";
import { makeInvitationLink } from "../session/invitations.js";
import { makeKeyToHandOver } from "../session/keys.js";
import { loginMethods } from "../session/proxy_logins.js";
import { current } from "../session/session.js";
import { isWaiting } from "../words.js";

/** @typedef {{name: string, email: string, tags: string[], way: "email" | "link" | "file"}} Person */
/** @typedef {{person: Person, waits: boolean, link?: string, file?: string, activityId: string}} Added */

/** The ways to log in: how it is called, and what happens. @type {[Person["way"], string, string][]} */
const WAYS = [
  ["email", "Invitation by e-mail", "They get a link, and make a passkey on their own device with it."],
  ["link", "Invitation link to copy", "You hand them the link, for example in a chat. They make a passkey on their own device with it."],
  ["file", "Key file", "For a program, or for somebody who uses the command line. This browser makes the key and saves it as a file."],
];

export function NewPersonScreen() {
  const [added, setAdded] = useState(/** @type {Added | null} */ (null));
  return html`<${Heading} title="Add a person" crumbs=${html`<a href="#/users">Users</a>`} />
    ${added ? html`<${Done} added=${added} onAgain=${() => setAdded(null)} />` : html`<${PersonForm} onAdded=${setAdded} />`}`;
}

/** @param {{onAdded: (added: Added) => void}} properties */
function PersonForm({ onAdded }) {
  const methods = useLoaded(loginMethods, []);
  const tags = useLoaded(async () => (await listed("list_user_tags")).userTags, []);
  const given = place.value.parameters;
  const draft = useDraft("person", () => /** @type {Person} */ ({ name: given.get("name") ?? "", email: given.get("email") ?? "", tags: [], way: "email" }));
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const ways = WAYS.filter(([way]) => way !== "email" || methods.value?.invitesByEmail);
  const person = { ...draft.value, way: ways.some(([way]) => way === draft.value.way) ? draft.value.way : ways[0][0] };
  const set = (/** @type {Partial<Person>} */ change) => draft.set({ ...person, ...change });
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      const added = await (person.way === "file" ? addWithFile(person) : invite(person));
      draft.forget();
      onAdded(added);
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  if (methods.isLoading) return html`<div class="loading" role="status">Loading…</div>`;
  return html`<form class="card form" onSubmit=${add}><div class="body">
    ${draft.wasKept ? html`<${Notice}>Your earlier input was restored. <button type="button" class="link" onClick=${draft.forget}>Start over</button><//>` : null}
    <${TextInput} label="Name" value=${person.name} onInput=${(/** @type {string} */ name) => set({ name })} autocomplete="off" />
    <${TextInput} label="E-mail" type="email" value=${person.email} isOptional=${person.way === "file"} onInput=${(/** @type {string} */ email) => set({ email })} autocomplete="off" />
    <fieldset class="ways"><legend class="label">How they will log in</legend>
      ${ways.map(([way, title, what]) => html`<label class="way" key=${way}><input type="radio" name="way" value=${way} checked=${person.way === way} onChange=${() => set({ way })} />
        <span><b>${title}</b><span class="small muted block">${what}</span></span></label>`)}</fieldset>
    ${tags.value?.length ? html`<fieldset class="group-box choices"><legend>Tags <span class="muted small">(optional)</span></legend>
      ${tags.value.map((/** @type {any} */ tag) => html`<label class="check" key=${tag.tagId}><input type="checkbox" checked=${person.tags.includes(tag.tagId)}
        onChange=${(/** @type {any} */ event) => set({ tags: event.target.checked ? [...person.tags, tag.tagId] : person.tags.filter((id) => id !== tag.tagId) })} /><span class="wrap">${tag.tagName}</span></label>`)}</fieldset>` : null}
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
    <div class="row"><button class="button primary" disabled=${isBusy}>${{ email: "Send the invitation", link: "Make the link", file: "Add and save the file" }[person.way]}</button>
      <a class="button plain" href="#/users" onClick=${draft.forget}>Cancel</a></div>
  </div></form>`;
}

/** @param {{label: string, value: string, onInput: (text: string) => void, isOptional?: boolean, [attribute: string]: any}} properties */
function TextInput({ label, value, onInput, isOptional = false, ...attributes }) {
  const id = useId();
  return html`<div class="field"><label for=${id}>${label}${isOptional ? html` <span class="muted small">(optional)</span>` : null}</label>
    <input id=${id} class="input" required=${!isOptional} maxLength="255" value=${value} onInput=${(/** @type {any} */ event) => onInput(event.target.value)} ...${attributes} /></div>`;
}

/** @param {Person} person @returns {Promise<Added>} */
async function invite(person) {
  const { organizationId, userId } = current();
  const made = person.way === "link" ? await makeInvitationLink(organizationId) : undefined;
  const activity = await submit("create_invitations", "ACTIVITY_TYPE_CREATE_INVITATIONS", {
    invitations: [{
      receiverUserName: person.name.trim(), receiverUserEmail: person.email.trim(), receiverUserTags: person.tags,
      accessType: "ACCESS_TYPE_WEB", senderUserId: userId, ...(made ? { publicKey: made.publicKey } : {}),
    }],
  });
  return { person, waits: isWaiting(activity), link: made?.link, activityId: activity.id };
}

/** @param {Person} person @returns {Promise<Added>} */
async function addWithFile(person) {
  const { publicKey, privateKey } = await makeKeyToHandOver();
  const activity = await submit("create_users", "ACTIVITY_TYPE_CREATE_USERS_V4", {
    users: [{
      userName: person.name.trim(), ...(person.email.trim() ? { userEmail: person.email.trim() } : {}), userTags: person.tags,
      apiKeys: [{ apiKeyName: "Key file", publicKey, curveType: "API_KEY_CURVE_P256" }], authenticators: [], oauthProviders: [],
    }],
  });
  const file = saveKeyFile(person.name, publicKey, privateKey);
  return { person, waits: isWaiting(activity), file, activityId: activity.id };
}

/** What to do next. @param {{added: Added, onAgain: () => void}} properties */
function Done({ added: { person, waits, link, file, activityId }, onAgain }) {
  const { name, email } = person;
  return html`<${Card} title=${file ? `${name} is added` : `${name} is invited`}>
    ${waits ? html`<${Notice} kind="warn">This waits for the approval of others. ${link ? "The link works once they have approved." : ""} <a href=${to(["activities", activityId])}>Open the activity</a><//>` : null}
    ${link ? html`<p>Hand this link to ${name}. It works once, is valid for 7 days, and is shown only now: who has it can log in as ${name}.</p>
      <div class="secret"><${Copy} text=${link} label="link" /></div>` : null}
    ${file ? html`<p>The file <code>${file}</code> was saved on this device. Hand it to ${name} in a safe way, then delete it here: who has it can log in as ${name}.</p>` : null}
    ${link || file || waits ? null : html`<p>An e-mail with a link is on its way to ${email}. The link works once and is valid for 7 days.</p>`}
    <div class="row"><a class="button primary" href="#/users">Done</a><button type="button" class="button" onClick=${onAgain}>Add another person</button></div>
  <//>`;
}
