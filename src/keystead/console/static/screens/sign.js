// Signing a message: what signs, the message, and the signature to copy.
import { html, useId, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { FORMS } from "../api/signed_messages.js";
import { AccountChooser } from "../parts/account_chooser.js";
import { Notice, messageOf, tell } from "../parts/notice.js";
import { Card, Copy, Heading } from "../parts/texts.js";
import { go, to } from "../router.js";
import { isWaiting } from "../words.js";

/** @typedef {{signature: string, address: string, activityId: string}} Done */

export function SignScreen() {
  const [account, setAccount] = useState(/** @type {import("../api/accounts.js").Signing | null} */ (null));
  const [formAt, setFormAt] = useState(0);
  const [text, setText] = useState("");
  const [done, setDone] = useState(/** @type {Done | null} */ (null));
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [formId, textId] = [useId(), useId()];
  const forms = account ? FORMS.filter(({ fits }) => fits(account)) : [];
  const form = forms[formAt] ?? forms[0];
  const choose = (/** @type {import("../api/accounts.js").Signing | null} */ chosen) => {
    setAccount(chosen);
    setFormAt(0);
  };
  const sign = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!account) return;
    setBusy(true);
    setProblem("");
    try {
      const activity = await submit("sign_raw_payload", "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", { signWith: account.signWith, ...form.payload(text) });
      if (isWaiting(activity)) {
        tell("The signature waits for the approval of others.");
        return go(to(["activities", activity.id]));
      }
      if (activity.failure) throw new Error(activity.failure.message);
      setDone({ signature: form.signature(activity.result.signRawPayloadResult), address: account.what, activityId: activity.id });
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return html`<${Heading} title="Sign a message" note="A signature proves that this organization controls an address. It sends nothing to a chain." />
    ${done ? html`<${Card} title="Signed">
      <div class="field"><span class="label">Signature</span><div class="secret"><${Copy} text=${done.signature} label="signature" /></div></div>
      <div class="field"><span class="label">Message</span><pre class="wrap long">${text}</pre></div>
      <p class="muted small">By ${account?.name}, ${done.address}. <a href=${to(["activities", done.activityId])}>The activity on record</a></p>
      <div class="row"><button type="button" class="button primary" onClick=${() => (setDone(null), setText(""))}>Sign another message</button></div><//>`
    : html`<form class="card form" onSubmit=${sign}><div class="body">
      <${AccountChooser} chosen=${account} onChoose=${choose} />
      ${form ? html`
        ${forms.length > 1 ? html`<div class="field"><label for=${formId}>Kind</label><select id=${formId} class="input" value=${String(formAt)} onChange=${(/** @type {any} */ event) => setFormAt(Number(event.target.value))}>
          ${forms.map(({ name }, index) => html`<option value=${String(index)}>${name}</option>`)}</select></div>` : null}
        <div class="field"><label for=${textId}>${form.name === "Typed data" ? "Typed data" : "Message"}</label>
          <textarea id=${textId} class="input mono" required spellcheck=${false} aria-describedby=${`${textId}-hint`} value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea>
          <span id=${`${textId}-hint`} class="hint">${form.hint}</span></div>
        ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
        <div class="row"><button class="button primary" disabled=${isBusy}>Sign</button></div>` : null}
    </div></form>`}`;
}
