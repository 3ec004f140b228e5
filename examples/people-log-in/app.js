// Sign-up, login and a wallet, with the published @turnkey/core. serve.mjs fills in SERVER.
import { TurnkeyClient } from "@turnkey/core";

const client = new TurnkeyClient({ ...SERVER, passkeyConfig: { rpId: location.hostname } });
await client.init();

const element = (id) => document.getElementById(id);
const EMAIL = "OTP_TYPE_EMAIL";
let begun;

async function show() {
  const session = await client.getSession();
  element("logged-out").hidden = Boolean(session);
  element("logged-in").hidden = !session;
  if (!session) return;
  const wallets = await client.fetchWallets();
  element("organization").textContent = session.organizationId;
  const lines = wallets.map(({ walletName, accounts }) => `${walletName}: ${accounts[0].address}`);
  element("wallets").replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
}

const actions = {
  "sign-up": () => client.signUpWithPasskey(),
  "log-in": () => client.loginWithPasskey(),
  "log-out": () => client.logout(),
  refresh: () => client.refreshSession({ invalidateExisitng: true }), // the spelling of the package
  async create() {
    const { length } = await client.fetchWallets(); // the names of wallets are unique
    const walletName = length ? `Savings ${length + 1}` : "Savings";
    await client.createWallet({ walletName, accounts: ["ADDRESS_FORMAT_ETHEREUM"] });
  },
  async sign() {
    const [wallet] = await client.fetchWallets();
    if (!wallet) throw new Error("Create a wallet first.");
    const { r, s } = await client.signMessage({ message: "hello", walletAccount: wallet.accounts[0] });
    element("signature").textContent = `${r}${s}`;
  },
  async ask({ contact }) {
    begun = { contact, ...(await client.initOtp({ otpType: EMAIL, contact })) };
    element("answer").hidden = false;
  },
  async answer({ otpCode }) {
    await client.completeOtp({ ...begun, otpCode, otpType: EMAIL });
    element("answer").hidden = true;
  },
};

const setBusy = (busy) => document.querySelectorAll("button").forEach((button) => (button.disabled = busy));

async function act(action, given) {
  setBusy(true);
  element("problem").textContent = "";
  try {
    await action(given);
  } catch (error) {
    if (error.code === "SESSION_EXPIRED") await client.clearAllSessions();
    element("problem").textContent = error.cause?.message ?? error.message;
  }
  await show();
  setBusy(false);
}

for (const [id, action] of Object.entries(actions)) {
  element(id).addEventListener(element(id).tagName === "FORM" ? "submit" : "click", (event) => {
    event.preventDefault();
    act(action, Object.fromEntries(element(id).tagName === "FORM" ? new FormData(element(id)) : []));
  });
}
await act(() => {});
