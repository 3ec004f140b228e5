// Making a wallet, and importing one by its words, which only the signer of the server can read.
import { html, useId, useState } from "../vendor/preact.js";
import { submit } from "../api/calls.js";
import { ChainsField, accountsOn } from "../parts/chains.js";
import { Notice, messageOf, tell } from "../parts/notice.js";
import { Heading } from "../parts/texts.js";
import { go, to } from "../router.js";
import { sealedForImport } from "../session/bundles.js";
import { current } from "../session/session.js";
import { isWaiting } from "../words.js";

const LENGTHS = [12, 15, 18, 21, 24];
const CRUMBS = html`<a href="#/wallets">Wallets</a>`;

/** @typedef {import("../parts/chains.js").Chain} Chain */
/** @typedef {{name: string, chains: Chain[]}} Wallet */

export function NewWalletScreen() {
  const [words, setWords] = useState("12");
  const id = useId();
  const make = async (/** @type {Wallet} */ { name, chains }) => {
    const activity = await submit("create_wallet", "ACTIVITY_TYPE_CREATE_WALLET", { walletName: name, accounts: accountsOn(chains), mnemonicLength: Number(words) });
    leave(activity, activity.result.createWalletResult?.walletId, "The wallet is ready.");
  };
  return html`<${Heading} title="New wallet" crumbs=${CRUMBS} note="The server makes its words, keeps them encrypted, and shows them to nobody unless the wallet is exported.">
      <a class="button" href="#/wallets/import">Import one instead</a><//>
    <${WalletForm} action="Create the wallet" onSend=${make}>
      <div class="field"><label for=${id}>Words</label><select id=${id} class="input narrow" value=${words} onChange=${(/** @type {any} */ event) => setWords(event.target.value)}>
        ${LENGTHS.map((each) => html`<option value=${String(each)}>${each}</option>`)}</select><span class="hint">12 are as safe as the keys of any chain; 24 for those who are asked to.</span></div><//>`;
}

export function ImportWalletScreen() {
  const [words, setWords] = useState("");
  const id = useId();
  const number = words.trim().split(/\s+/).filter(Boolean).length;
  const wrong = words.trim() && !LENGTHS.includes(number) ? `These are ${number} words; expected 12, 15, 18, 21 or 24.` : "";
  const bring = async (/** @type {Wallet} */ { name, chains }) => {
    const { organizationId, userId } = current();
    const begun = await submit("init_import_wallet", "ACTIVITY_TYPE_INIT_IMPORT_WALLET", { userId });
    if (isWaiting(begun)) return leave(begun, undefined, "");
    const encryptedBundle = await sealedForImport(begun.result.initImportWalletResult.importBundle, { organizationId, userId }, words.trim().split(/\s+/).join(" "));
    const activity = await submit("import_wallet", "ACTIVITY_TYPE_IMPORT_WALLET", { userId, walletName: name, encryptedBundle, accounts: accountsOn(chains) });
    setWords("");
    leave(activity, activity.result.importWalletResult?.walletId, "The wallet was imported.");
  };
  return html`<${Heading} title="Import a wallet" crumbs=${CRUMBS} note="This browser encrypts the words for the signer of this server. Nobody on the way can read them." />
    <${WalletForm} action="Import the wallet" isWrong=${Boolean(wrong)} onSend=${bring}>
      <div class="field"><label for=${id}>Words</label><textarea id=${id} class="input mono" required autocomplete="off" autocapitalize="none" spellcheck=${false} aria-invalid=${wrong ? "true" : undefined} aria-describedby=${`${id}-hint`}
        value=${words} onInput=${(/** @type {any} */ event) => setWords(event.target.value)}></textarea>
        <span id=${`${id}-hint`} class=${wrong ? "problem" : "hint"}>${wrong || "In their order, with spaces between them. They are not kept in this browser."}</span></div><//>`;
}

/** @param {{action: string, isWrong?: boolean, onSend: (wallet: Wallet) => Promise<void>, children?: any}} properties */
function WalletForm({ action, isWrong = false, onSend, children }) {
  const [name, setName] = useState("");
  const [chains, setChains] = useState(/** @type {Chain[]} */ (["Ethereum"]));
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await onSend({ name: name.trim(), chains });
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return html`<form class="card form" onSubmit=${send}><div class="body">
    <div class="field"><label for=${id}>Name</label><input id=${id} class="input" required maxLength="255" autocomplete="off" placeholder="Such as Treasury" value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></div>
    ${children}
    <${ChainsField} chosen=${chains} onChoose=${setChains} />
    ${problem ? html`<${Notice} kind="bad">${problem}<//>` : null}
    <div class="row"><button class="button primary" disabled=${isBusy || isWrong}>${action}</button><a class="button plain" href="#/wallets">Cancel</a></div>
  </div></form>`;
}

/** To the wallet, or to the activity that waits or failed. @param {any} activity @param {string | undefined} walletId @param {string} text */
function leave(activity, walletId, text) {
  if (!walletId) return go(to(["activities", activity.id]));
  tell(text);
  go(to(["wallets", walletId]));
}
