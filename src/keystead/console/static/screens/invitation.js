// The page behind the link of an invitation: it makes the person's first passkey, then logs in with it.
import { html, useState } from "../vendor/preact.js";
import { Refused } from "../api/request.js";
import { Icon } from "../parts/icons.js";
import { useLoaded } from "../parts/loaded.js";
import { Notice, messageOf } from "../parts/notice.js";
import { acceptInvitation, invitedBy } from "../session/invitations.js";
import { canUsePasskeys } from "../session/passkeys.js";
import { logInByPasskey } from "../session/session.js";

/** @param {{invitation: import("../session/invitations.js").Invitation, onDone: () => void}} properties */
export function InvitationScreen({ invitation, onDone }) {
  const invited = useLoaded(() => invitedBy(invitation), []);
  const [isAccepted, setAccepted] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const attempt = async (/** @type {() => Promise<void>} */ act) => {
    setBusy(true);
    setProblem("");
    await act().catch((error) => setProblem(messageOf(error)));
    setBusy(false);
  };
  const accept = () => attempt(async () => {
    if (!invited.value) return;
    await acceptInvitation(invitation, invited.value);
    setAccepted(true);
  });
  const logIn = () => attempt(async () => {
    await logInByPasskey(invitation.organizationId);
    onDone();
  });
  return html`<main class="login"><div class="panel">
    <div class="top"><img src="icon.svg" alt="" /><h1>${invited.value ? `Join ${invited.value.organizationName}` : "Your invitation"}</h1></div>
    <section class="card"><div class="body">
      ${invited.isLoading ? html`<div class="loading" role="status">Loading…</div>` : null}
      ${invited.error ? html`<${Notice} kind="bad">${refusalInWords(invited.error)}<//><a class="button wide" href="#/" onClick=${onDone}>Log in instead</a>` : null}
      ${invited.value && !isAccepted ? html`
        <p>You are invited as <b>${invited.value.userName}</b>. Create a passkey on this device: you log in and approve with it from now on, without a password.</p>
        <button type="button" class="button primary wide" disabled=${isBusy || !canUsePasskeys()} onClick=${accept}><${Icon} name="passkey" />Create a passkey</button>
        ${canUsePasskeys() ? null : html`<p class="small muted">Browsers use passkeys on https and on localhost only.</p>`}` : null}
      ${isAccepted ? html`<${Notice} kind="good">Your passkey is ready. The link of the invitation does nothing any more.<//>
        <button type="button" class="button primary wide" disabled=${isBusy} onClick=${logIn}><${Icon} name="passkey" />Log in with it</button>` : null}
      ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
    </div></section>
  </div></main>`;
}

/** @param {unknown} error */
function refusalInWords(error) {
  const isOver = error instanceof Refused && (error.status === 401 || error.status === 404);
  return isOver ? "This invitation was accepted before, has expired, or was withdrawn. Ask the person who invited you for another one." : messageOf(error);
}
