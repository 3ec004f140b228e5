// Logging in: by passkey, or by an API key file that stays in this browser.
import { html, useRef, useState } from "../vendor/preact.js";
import { Icon } from "../parts/icons.js";
import { Notice, messageOf } from "../parts/notice.js";
import { canUsePasskeys } from "../session/passkeys.js";
import { ending, logInByApiKey, logInByPasskey } from "../session/session.js";

const ID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

export function LoginScreen() {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  /** @param {() => Promise<void>} logIn */
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
  const why = problem || ending.value;
  return html`<main class="login"><div class="panel">
    <div class="top"><img src="icon.svg" alt="" /><h1>Log in to Keystead</h1></div>
    ${why ? html`<${Notice} kind=${problem ? "bad" : "warn"}>${why}<//>` : null}
    <section class="card"><div class="body">
      <${PasskeyForm} isBusy=${isBusy} attempt=${attempt} />
      <div class="or">or</div>
      <${KeyFile} attempt=${attempt} />
    </div></section>
    ${document.documentElement.dataset.mode === "dev" ? html`<p class="muted small">This is a development server. The link that
      ${" "}<code>keystead dev</code> prints when it starts logs you in without a file; it works once.</p>` : null}
  </div></main>`;
}

/** @param {{isBusy: boolean, attempt: (logIn: () => Promise<void>) => void}} properties */
function PasskeyForm({ isBusy, attempt }) {
  const [organizationId, setOrganizationId] = useState(localStorage.getItem("organizationId") ?? "");
  const [problem, setProblem] = useState("");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const isId = ID.test(organizationId.trim());
    setProblem(isId ? "" : "Expected an organization's id: 8-4-4-4-12 hex digits in lower case.");
    if (isId) attempt(() => logInByPasskey(organizationId.trim()));
  };
  return html`<form class="stack" onSubmit=${submit} noValidate>
    <div class="field"><label for="organization">Organization</label>
      <input id="organization" class="input mono" autocomplete="organization" spellcheck=${false} value=${organizationId} placeholder="Organization id"
        aria-invalid=${problem ? "true" : undefined} aria-describedby=${problem ? "organization-problem" : undefined}
        onInput=${(/** @type {any} */ event) => setOrganizationId(event.target.value)} />
      ${problem ? html`<div id="organization-problem" class="problem">${problem}</div>` : null}
    </div>
    <button class="button primary wide" disabled=${isBusy || !canUsePasskeys()}><${Icon} name="passkey" />Log in with a passkey</button>
    ${canUsePasskeys() ? null : html`<p class="small muted">Browsers use passkeys on https and on localhost only.</p>`}
  </form>`;
}

/** @param {{attempt: (logIn: () => Promise<void>) => void}} properties */
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
      <span class="small">or choose it: such as <code>.keystead/credentials.json</code></span>
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
