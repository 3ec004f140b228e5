"""An authentication proxy as a wallet kit uses it, and wallet verification tokens that a test makes itself."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec

from keystead.api.enums import OtpType, WalletAuthenticatorType
from keystead.api.identifiers import new_id
from keystead.organizations.kinds.data_key import Sealed
from keystead.sessions.verification_tokens import VerificationToken
from keystead.sessions.wallet_tokens import WalletClaim, WalletToken
from keystead.signer.installation_keys import VERIFICATION_KEY
from keystead.signer.local import LocalSigner
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, now_ms, unique
from tests.support.login_wallets import DOMAIN, LoginWallet, signed_login, wallet_params
from tests.support.servers import Server
from tests.support.sessions import attested, claims_of

ORIGIN = "https://app.example.com"
STAMP_LOGIN = "/public/v1/submit/stamp_login"


@dataclass(frozen=True)
class WalletKit:
    """A parent with an authentication proxy, and what a wallet kit sends to both."""

    server: Server
    parent: Caller
    config_id: str

    def ask(self, endpoint: str, **body: Any) -> httpx.Response:
        headers = {"X-Auth-Proxy-Config-ID": self.config_id, "Origin": ORIGIN}
        return self.parent.http.post(f"/auth-proxy/v1/{endpoint}", json=body, headers=headers)

    def proven(self, wallet: LoginWallet, key: ApiKeyPair, domain: str = DOMAIN) -> str:
        """The proxy's token for a message with this key as its session's key."""
        login = signed_login(wallet, key.public_key, now_ms(), domain=domain)
        del login["publicKey"]
        token: str = answered(self.ask("verify_wallet_authenticator", **login))["verificationToken"]
        return token

    def account(self, filter_type: str, value: str, **others: Any) -> str | None:
        found = answered(self.ask("account", filterType=filter_type, filterValue=value, **others))
        organization_id: str | None = found.get("organizationId")
        return organization_id

    def sign_up(self, *wallets: dict[str, str], **members: Any) -> httpx.Response:
        body: dict[str, Any] = {
            "apiKeys": [],
            "authenticators": [],
            "oauthProviders": [],
            "userName": unique("user"),
        }
        return self.ask("signup_v3", **body | {"walletAuthenticators": list(wallets)} | members)

    def login(
        self, key: ApiKeyPair, token: str, organization_id: str = "", scheme: str = "WALLET_"
    ) -> httpx.Response:
        """A login by an attested stamp."""
        named = {"organizationId": organization_id} if organization_id else {}
        body = self.parent.submit_body("stamp_login", {"publicKey": key.public_key}, **named)
        headers = attested(key, f"{scheme}VERIFICATION_TOKEN", token, body) | SDK_FORM
        return self.parent.http.post(STAMP_LOGIN, content=body, headers=headers)

    def account_of(self, wallet: LoginWallet) -> Caller:
        """The root user of a sub-organization that the wallet's owner has made, who also has a key."""
        key = generate_api_key()
        params = wallet_params(wallet, verificationToken=self.proven(wallet, generate_api_key()))
        made = answered(self.sign_up(params, apiKeys=[api_key_params(key.public_key)]))
        return self.parent.with_key(key, made["userId"], made["organizationId"])

    def token(self, of: LoginWallet, key: ApiKeyPair, **members: Any) -> str:
        """As verify_wallet_authenticator makes it, with these members instead."""
        token = WalletToken(
            id=new_id(),
            organization_id=self.parent.organization_id,
            wallet=claim_of(of),
            public_key=of.public_key,
            session_public_key=key.public_key,
            expires_at_ms=now_ms() + 60_000,
        )
        return asyncio.run(self._signer().sign_wallet_token(msgspec.structs.replace(token, **members)))

    def token_of_code(self, key: ApiKeyPair) -> str:
        token = VerificationToken(
            id=new_id(),
            organization_id=self.parent.organization_id,
            otp_type=OtpType.EMAIL,
            contact="ada@example.com",
            expires_at_ms=now_ms() + 60_000,
            public_key=key.public_key,
        )
        return asyncio.run(self._signer().sign_verification_token(token))

    def _signer(self) -> LocalSigner:
        installation = self.server.installation
        ((sealed,),) = installation.database.rows(
            f"SELECT value FROM instance WHERE name = '{VERIFICATION_KEY.name}'"
        )
        keys = {VERIFICATION_KEY.name: msgspec.json.decode(sealed, type=Sealed)}
        return LocalSigner(installation.master_key, keys)


def claim_of(wallet: LoginWallet, domain: str = DOMAIN) -> WalletClaim:
    return WalletClaim(WalletAuthenticatorType(wallet.type), wallet.address, domain)


def new_kit(server: Server, parent: Caller, **settings: Any) -> WalletKit:
    config_id = parent.result("enable_auth_proxy", {})["userId"]
    parent.submitted("update_auth_proxy_config", {"configId": config_id, "allowedOrigins": [ORIGIN]} | settings)
    return WalletKit(server, parent, config_id)


def session_of(kit: WalletKit, answer: httpx.Response) -> dict[str, Any]:
    activity = answered(answer)["activity"]
    assert activity["status"] == "ACTIVITY_STATUS_COMPLETED", activity
    return claims_of(kit.parent, activity["result"]["stampLoginResult"]["session"])


def recorded(caller: Caller, user_id: str = "") -> list[dict[str, Any]]:
    id_ = user_id or caller.user_id
    found: list[dict[str, Any]] = caller.asked("get_wallet_authenticators", userId=id_)["walletAuthenticators"]
    assert found == caller.asked("get_user", userId=id_)["user"]["walletAuthenticators"]
    return found
