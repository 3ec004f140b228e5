// Asks the person before a request is sent that would lock its own sender out by an IP allow-list.
import { html } from "../vendor/preact.js";
import { lockoutQuestion } from "../api/question.js";
import { Dialog } from "./dialog.js";
import { Notice } from "./notice.js";

export function LockoutQuestion() {
  const asked = lockoutQuestion.value;
  return asked && html`<${Dialog} title="This locks you out" onClose=${() => asked.answer(false)}
    actions=${html`<button type="button" class="button primary danger-fill" onClick=${() => asked.answer(true)}>Send it nevertheless</button>`}>
    <${Notice} kind="bad">Once this is executed, your own requests are refused: ${asked.refusal}.<//>
    <p>Add a network with your address to the rules, or send it from an address that stays on the list. If everybody is locked out,
      only the operator of this server can lift the list: <code>keystead recover ip-allowlist</code></p><//>`;
}
