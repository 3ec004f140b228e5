// A page of react-wallet-kit: its provider, its log-in dialog, and what an application shows of a session.
import { TurnkeyProvider, useTurnkey } from "@turnkey/react-wallet-kit";
import "@turnkey/react-wallet-kit/styles.css";
import { createRoot } from "react-dom/client";

function Application() {
  const { handleLogin, logout, authState, wallets, session } = useTurnkey();
  if (authState !== "authenticated") return <button onClick={() => handleLogin()}>Log in</button>;
  return (
    <>
      <p id="organization">{session?.organizationId}</p>
      <ul>{wallets.map(({ walletId, walletName }) => <li key={walletId}>{walletName}</li>)}</ul>
      <button onClick={() => logout()}>Log out</button>
    </>
  );
}

const account = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
};
const withWallet = { customWallet: { walletName: "first", walletAccounts: [account] } };
const config = {
  ...window.server,
  passkeyConfig: { rpId: "localhost" },
  auth: { createSuborgParams: { passkeyAuth: withWallet, emailOtpAuth: withWallet } },
};

createRoot(document.getElementById("root")).render(
  <TurnkeyProvider config={config} callbacks={{ onError: (error) => console.error(error) }}>
    <Application />
  </TurnkeyProvider>,
);
