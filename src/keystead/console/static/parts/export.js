// Exporting a wallet to this browser: it makes the key that the words are encrypted to, and shows them once.
import { html, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { to, go } from "../router.js";
import { exportedIn } from "../session/bundles.js";
import { exportKey, forgetExportKey, keepExportKey } from "../session/export_keys.js";
import { makeTargetKey } from "../session/hpke.js";
import { current } from "../session/session.js";
import { isWaiting } from "../words.js";
import { Icon } from "./icons.js";
import { useLoaded } from "./loaded.js";
import { useMyPasskeys } from "./my_passkeys.js";
import { Notice, messageOf, tell } from "./notice.js";
import { Card } from "./texts.js";

/** @param {{walletId: string, name: string, onClose: () => void}} properties */
export function ExportWallet({ walletId, name, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const passkeys = useMyPasskeys();
  const [words, setWords] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const start = async () => {
    setBusy(true);
    setProblem("");
    try {
      const target = await makeTargetKey();
      await keepExportKey(target);
      const how = passkeys.ids.length ? { credentialIds: passkeys.ids } : {};
      const activity = await submit("export_wallet", "ACTIVITY_TYPE_EXPORT_WALLET", { walletId, targetPublicKey: target.publicKey }, how);
      if (activity.failure) throw new Error(activity.failure.message);
      if (isWaiting(activity)) {
        dialog.current?.close();
        tell("The export waits for the approval of others. This browser shows the words once they have approved.");
        return go(to(["activities", activity.id]));
      }
      setWords(await openedOnce(activity.result.exportWalletResult.exportBundle, target.publicKey));
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} aria-label=${`Export ${name}`} onClose=${onClose}><div class="inside"><h2>Export ${name}</h2>
    ${words ? html`<${Words} text=${words} />`
      : html`<p>This browser shows the words of the wallet once. Who has them has everything in the wallet, for ever, without this server and without its policies.</p>
        <p class="muted small">The record keeps who exported it and when. Look around first: nobody else should see this screen.</p>
        ${passkeys.canHave ? html`<${Notice} kind="warn">You have no passkey, so the key of this browser alone does it. <a href=${to(["users", current().userId])}>Add a passkey first</a><//>` : null}`}
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
    <div class="actions"><button type="button" class="button" onClick=${() => dialog.current?.close()}>${words ? "I have written them down" : "Cancel"}</button>
      ${words ? null : html`<button type="button" class="button primary danger-fill" disabled=${isBusy || passkeys.isLoading} onClick=${start}><${Icon} name=${passkeys.ids.length ? "passkey" : "key"} />${passkeys.ids.length ? "Export with a passkey" : "Export with this browser’s key"}</button>`}</div></div></dialog>`;
}

/** On the page of an export that others had to approve: the words, once, in the browser that asked for it. @param {{activity: any}} properties */
export function ExportedWords({ activity }) {
  const bundle = activity.result.exportWalletResult?.exportBundle;
  const target = activity.intent.exportWalletIntent?.targetPublicKey ?? "";
  const [words, setWords] = useState("");
  const [problem, setProblem] = useState("");
  const kept = useLoaded(async () => Boolean(bundle && (await exportKey(target))), [bundle, target]);
  if (!kept.value) return null;
  const show = () => openedOnce(bundle, target).then(setWords, (error) => setProblem(messageOf(error)));
  return html`<${Card} title="The words of the wallet">${words ? html`<${Words} text=${words} />`
    : html`<p>Everybody who had to has approved. This browser can show the words once. Nobody else should see this screen.</p>
      <div><button type="button" class="button primary danger-fill" onClick=${show}>Show the words</button></div>`}
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}<//>`;
}

/** What was exported to a key of this browser; the key is forgotten, so that nobody opens it again. @param {string} bundle @param {string} publicKey */
async function openedOnce(bundle, publicKey) {
  const target = await exportKey(publicKey);
  if (!target) throw new Error("This browser has no key for this export: it was shown before, or another browser asked for it.");
  const opened = new TextDecoder().decode(await exportedIn(bundle, current().organizationId, target));
  await forgetExportKey(publicKey);
  return opened;
}

/** @param {{text: string}} properties */
function Words({ text }) {
  return html`<ol class="words" aria-label="Words of the wallet">${text.split(" ").map((word) => html`<li><span>${word}</span></li>`)}</ol>
    <p class="muted small">Write them down in this order, on paper. They are not shown again.</p>`;
}
