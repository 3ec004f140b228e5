// Logging in: by passkey, by a one-time code, at an issuer, or by an API key file that stays in this browser.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { control } from "../api/development.js";
import { useDraft } from "../parts/draft.js";
import { Icon } from "../parts/icons.js";
import { useLoaded } from "../parts/loaded.js";
import { Notice, messageOf } from "../parts/notice.js";
import { canUsePasskeys } from "../session/passkeys.js";
import { logInAt, logInByCode, proxyLogins, sendCode } from "../session/proxy_logins.js";
import { ending, logInByApiKey, logInByPasskey } from "../session/session.js";

const ID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

const IS_DEVELOPMENT = document.documentElement.dataset.mode === "dev";

/** @typedef {(logIn: () => Promise<void>) => Promise<void>} Attempt */

export function LoginScreen() {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [organizationId, setOrganizationId] = useState("");
  const offered = useLoaded(proxyLogins, []);
  /** @type {Attempt} */
  const attempt = async (logIn) => {
    setBusy(true);
    setProblem("");
    try {
      await logIn();
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  const why = problem || ending.value || (offered.error ? messageOf(offered.error) : "");
  const organization = organizationId.trim();
  return html`<main class="login"><div class="panel">
    <div class="top"><img src="icon.svg" alt="" /><h1>Log in to Keystead</h1></div>
    ${why ? html`<${Notice} kind=${problem ? "bad" : "warn"}>${why}<//>` : null}
    <section class="card"><div class="body">
      <${PasskeyForm} organizationId=${organizationId} onOrganization=${setOrganizationId} isBusy=${isBusy} attempt=${attempt} />
      ${offered.value?.issuers.length ? html`<div class="stack tight">${offered.value.issuers.map((issuer) => html`<button type="button" class="button wide" key=${issuer.url} disabled=${isBusy}
        onClick=${() => attempt(() => logInAt(issuer, organization))}><${Icon} name="login" />Log in with ${issuer.name}</button>`)}</div>` : null}
      ${offered.value?.channels.length ? html`<div class="or">or</div><${CodeForm} offered=${offered.value} organizationId=${organization} isBusy=${isBusy} attempt=${attempt} />` : null}
      <div class="or">or</div>
      <${KeyFile} attempt=${attempt} />
    </div></section>
    ${IS_DEVELOPMENT ? html`<p class="muted small">This is a development server. <code>keystead console</code> prints a link that logs you in; each works once.</p>` : null}
  </div></main>`;
}

/** A passkey finds its organization; only who has one passkey in several names one. */
/** @param {{organizationId: string, onOrganization: (id: string) => void, isBusy: boolean, attempt: Attempt}} properties */
function PasskeyForm({ organizationId, onOrganization, isBusy, attempt }) {
  const [problem, setProblem] = useState("");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const id = organizationId.trim();
    const isId = !id || ID.test(id);
    setProblem(isId ? "" : "Expected an organization's id: 8-4-4-4-12 hex digits in lower case.");
    if (isId) attempt(() => logInByPasskey(id));
  };
  return html`<form class="stack" onSubmit=${submit} noValidate>
    <button class="button primary wide" disabled=${isBusy || !canUsePasskeys()}><${Icon} name="passkey" />Log in with a passkey</button>
    ${canUsePasskeys() ? null : html`<p class="small muted">Browsers use passkeys on https and on localhost only.</p>`}
    <details open=${Boolean(problem)}><summary class="small muted">I belong to several organizations</summary><div class="field spaced"><label for="organization">Organization</label>
      <input id="organization" class="input mono" autocomplete="organization" spellcheck=${false} value=${organizationId} placeholder="Organization id"
        aria-invalid=${problem ? "true" : undefined} aria-describedby=${problem ? "organization-problem" : undefined}
        onInput=${(/** @type {any} */ event) => onOrganization(event.target.value)} />
      ${problem ? html`<div id="organization-problem" class="problem">${problem}</div>` : html`<span class="hint">Its id is on the page Organization. Otherwise leave this empty.</span>`}
    </div></details>
  </form>`;
}

/** @typedef {import("../session/proxy_logins.js").ProxyLogins} ProxyLogins */

/** A contact, then the code that was sent to it. @param {{offered: ProxyLogins, organizationId: string, isBusy: boolean, attempt: Attempt}} properties */
function CodeForm({ offered, organizationId, isBusy, attempt }) {
  const { value: typed, set, forget } = useDraft("code", () => ({ contact: "", otpId: "" }));
  const { contact, otpId } = typed;
  const [code, setCode] = useState("");
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => void (otpId && field.current?.focus()), [otpId]);
  const hasEmail = offered.channels.includes("email");
  const label = hasEmail ? (offered.channels.length > 1 ? "E-mail or phone number" : "E-mail") : "Phone number";
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    attempt(async () => set({ contact, otpId: await sendCode(offered.authProxyId, contact.trim()) }));
  };
  const logIn = (/** @type {Event} */ event) => {
    event.preventDefault();
    attempt(async () => {
      await logInByCode(offered.authProxyId, { otpId, code: code.trim(), organizationId });
      forget();
    });
  };
  const takeFromOutbox = () => attempt(async () => {
    const { messages } = await control("outbox");
    const sent = messages.filter((/** @type {any} */ { message }) => message.recipient === contact.trim()).at(-1);
    if (!sent) throw new Error("The outbox has no message to this address.");
    setCode(sent.message.secret);
  });
  if (!otpId) {
    return html`<form class="stack" onSubmit=${send}>
      <div class="field"><label for="contact">${label}</label>
        <input id="contact" class="input" required autocomplete=${hasEmail ? "email" : "tel"} value=${contact} onInput=${(/** @type {any} */ event) => set({ contact: event.target.value, otpId: "" })} /></div>
      <button class="button wide" disabled=${isBusy}><${Icon} name="mail" />Send a code</button>
    </form>`;
  }
  return html`<form class="stack" onSubmit=${logIn}>
    <p class="small" role="status">A code is on its way to <b class="wrap">${contact}</b>.</p>
    <div class="field"><label for="code">Code</label>
      <input id="code" ref=${field} class="input mono" required autocomplete="one-time-code" spellcheck=${false} value=${code} onInput=${(/** @type {any} */ event) => setCode(event.target.value)} /></div>
    ${IS_DEVELOPMENT ? html`<p class="small muted">This server sends nothing. <button type="button" class="link" onClick=${takeFromOutbox}>Take the code from its outbox</button></p>` : null}
    <button class="button primary wide" disabled=${isBusy}>Log in with the code</button>
    <button type="button" class="button plain wide" onClick=${() => (forget(), setCode(""))}>Use another address</button>
  </form>`;
}

/** @param {{attempt: Attempt}} properties */
function KeyFile({ attempt }) {
  const [isOver, setOver] = useState(false);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const read = (/** @type {File | undefined | null} */ file) => {
    if (file) attempt(async () => logInByApiKey(credentialsIn(await file.text())));
    if (input.current) input.current.value = "";
  };
  const drop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(false);
    read(event.dataTransfer?.files[0]);
  };
  return html`<label class=${`drop ${isOver ? "over" : ""}`} onDrop=${drop} onDragLeave=${() => setOver(false)}
      onDragOver=${(/** @type {Event} */ event) => (event.preventDefault(), setOver(true))}>
      <${Icon} name="file" /><b>Drop an API key file here</b>
      <span class="small">or choose it${IS_DEVELOPMENT ? html`, such as <code>.keystead/credentials.json</code>` : ""}</span>
      <input ref=${input} class="visually-hidden" type="file" accept=".json,application/json" onChange=${() => read(input.current?.files?.[0])} />
    </label>
    <p class="small muted">The file is read in this browser and not uploaded. Its key is kept so that it can sign and cannot be read.</p>`;
}

/** @param {string} text */
function credentialsIn(text) {
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error("This file is not JSON: expected a credentials file of Keystead.");
  }
  const { organizationId, apiPublicKey, apiPrivateKey } = content ?? {};
  for (const [name, value] of Object.entries({ organizationId, apiPublicKey, apiPrivateKey })) {
    if (typeof value !== "string") throw new Error(`The file has no text “${name}”: expected organizationId, apiPublicKey and apiPrivateKey.`);
  }
  return { organizationId, apiPublicKey, apiPrivateKey };
}
