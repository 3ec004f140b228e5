"""A deterministic signer and OAuth 2.0 providers: key material is derived from ids and paths."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence

from keystead.api.enums import AddressFormat, Curve, MnemonicLanguage, Oauth2Provider
from keystead.api.errors import InvalidRequest
from keystead.api.records import AppProof
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.pipeline.ports import AuthorizationCode, OAuth2Person
from keystead.pipeline.signer_values import (
    AccountRequest,
    AuthProxyKey,
    BundleSigner,
    ClientMessage,
    CredentialBundle,
    DerivedAccount,
    ImportedPrivateKey,
    ImportedWallet,
    NewImportTarget,
    NewOtpTarget,
    NewPrivateKey,
    NewWallet,
    OtpAttempt,
    PublicInstallationKey,
    SigningKey,
)
from keystead.sessions.oauth_tokens import OauthTokenClaims
from keystead.sessions.session_tokens import SessionClaims
from keystead.sessions.verification_tokens import VerificationToken
from keystead.sessions.wallet_tokens import WalletToken
from tests.support import bundles


def _newest(targets: Sequence[ImportTarget]) -> str:
    if not targets:
        raise InvalidRequest("failed to decrypt bundle")
    return targets[0].id


class FakeSigner:
    """Key material that depends only on ids and paths. Implements `pipeline.signer_port.Signer`."""

    async def new_data_key(self, organization_id: str) -> Sealed:
        return Sealed("master", organization_id.encode())

    async def new_otp_target(self, *, organization_id: str, data_key: Sealed, otp_id: str) -> NewOtpTarget:
        return NewOtpTarget(Sealed("data", otp_id.encode()), f"target of {otp_id}")

    async def open_otp_attempt(
        self, *, organization_id: str, data_key: Sealed, otp_id: str, sealed: Sealed, message: ClientMessage
    ) -> OtpAttempt:
        assert sealed.ciphertext == otp_id.encode()
        return OtpAttempt(message.ciphertext.decode(), "02" + "ab" * 32)

    async def code_digest(self, *, organization_id: str, data_key: Sealed, otp_id: str, code: str) -> bytes:
        return f"{otp_id} {code}".encode()

    async def seal_message(self, *, organization_id: str, data_key: Sealed, message_id: str, text: bytes) -> Sealed:
        return Sealed("data", text)

    async def open_message(
        self, *, organization_id: str, data_key: Sealed, message_id: str, sealed: Sealed
    ) -> bytes:
        return sealed.ciphertext

    async def create_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        mnemonic_length: int,
        accounts: Sequence[AccountRequest],
    ) -> NewWallet:
        await asyncio.sleep(0)
        digests = [hashlib.sha256(f"{wallet_id}{account.path}".encode()).hexdigest() for account in accounts]
        return NewWallet(
            Sealed("data", wallet_id.encode()),
            tuple(
                DerivedAccount(account, "02" + digest, "0x" + digest[:40])
                for account, digest in zip(accounts, digests, strict=True)
            ),
        )

    async def derive_accounts(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        sealed_mnemonic: Sealed,
        accounts: Sequence[AccountRequest],
    ) -> tuple[DerivedAccount, ...]:
        made = await self.create_wallet(
            organization_id=organization_id,
            data_key=data_key,
            wallet_id=wallet_id,
            mnemonic_length=12,
            accounts=accounts,
        )
        return made.accounts

    async def create_private_key(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        private_key_id: str,
        curve: Curve,
        address_formats: Sequence[AddressFormat],
    ) -> NewPrivateKey:
        digest = hashlib.sha256(private_key_id.encode()).hexdigest()
        return NewPrivateKey(
            Sealed("data", private_key_id.encode()),
            "04" + digest * 2,
            tuple("0x" + digest for _ in address_formats),
        )

    async def installation_keys(self) -> tuple[PublicInstallationKey, ...]:
        return ()

    async def missing_installation_keys(self) -> dict[str, Sealed]:
        return {}

    async def sign_webhook(self, *, timestamp_ms: int, event_id: str, body: bytes) -> bytes:
        return hashlib.sha512(f"{timestamp_ms}.{event_id}.".encode() + body).digest()

    async def sign_session_token(self, claims: SessionClaims) -> str:
        return f"session of {claims.public_key}"

    async def sign_verification_token(self, token: VerificationToken) -> str:
        return f"verification of {token.contact}"

    async def sign_wallet_token(self, token: WalletToken) -> str:
        return f"verification of {token.wallet.address}"

    async def new_credential_bundle(self, target: bytes) -> CredentialBundle:
        return CredentialBundle("02" + hashlib.sha256(target).hexdigest(), target.hex())

    async def open_client_secret(self, envelope: bytes) -> bytes:
        return envelope

    async def sign_oauth_token(
        self, *, claims: OauthTokenClaims, bearer_token: bytes | None, target: bytes | None
    ) -> str:
        return f"token about {claims.subject}"

    async def new_auth_proxy_key(self, *, organization_id: str, data_key: Sealed, proxy_id: str) -> AuthProxyKey:
        return AuthProxyKey(Sealed("data", proxy_id.encode()), "02" + hashlib.sha256(proxy_id.encode()).hexdigest())

    async def sign_auth_proxy_request(
        self, *, organization_id: str, data_key: Sealed, proxy_id: str, sealed_key: Sealed, body: bytes
    ) -> bytes:
        return hashlib.sha256(body).digest()

    async def bundle_signer(self) -> BundleSigner:
        return BundleSigner("04", "04")

    async def new_import_target(
        self, *, organization_id: str, data_key: Sealed, target_id: str, kind: ImportKind, user_id: str
    ) -> NewImportTarget:
        key = bundles.point(bundles.private_key(hashlib.sha256(target_id.encode()).digest())).hex()
        return NewImportTarget(Sealed("data", target_id.encode()), json.dumps({"target": target_id}), key)

    async def import_secret(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        target: ImportTarget,
        message: ClientMessage,
        secret_id: str,
    ) -> Sealed:
        return Sealed("data", f"secret {secret_id}".encode())

    async def export_secret(
        self, *, organization_id: str, data_key: Sealed, secret_id: str, sealed: Sealed, target: bytes
    ) -> str:
        return json.dumps({"secret": secret_id, "to": target.hex()})

    async def import_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        targets: Sequence[ImportTarget],
        message: ClientMessage,
        wallet_id: str,
        accounts: Sequence[AccountRequest],
    ) -> ImportedWallet:
        """The newest target opens everything."""
        wallet = await self.create_wallet(
            organization_id=organization_id,
            data_key=data_key,
            wallet_id=wallet_id,
            mnemonic_length=12,
            accounts=accounts,
        )
        return ImportedWallet(_newest(targets), wallet)

    async def import_private_key(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        targets: Sequence[ImportTarget],
        message: ClientMessage,
        private_key_id: str,
        curve: Curve,
        address_formats: Sequence[AddressFormat],
    ) -> ImportedPrivateKey:
        private_key = await self.create_private_key(
            organization_id=organization_id,
            data_key=data_key,
            private_key_id=private_key_id,
            curve=curve,
            address_formats=address_formats,
        )
        return ImportedPrivateKey(_newest(targets), private_key)

    async def export_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        sealed_mnemonic: Sealed,
        language: MnemonicLanguage,
        target: bytes,
    ) -> str:
        return json.dumps({"wallet": wallet_id, "to": target.hex()})

    async def export_key(self, *, organization_id: str, data_key: Sealed, key: SigningKey, target: bytes) -> str:
        return json.dumps({"key": hashlib.sha256(repr(key).encode()).hexdigest(), "to": target.hex()})

    async def sign(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        key: SigningKey,
        scheme: SignatureScheme,
        messages: Sequence[bytes],
    ) -> tuple[Signature, ...]:
        return tuple(Signature(hashlib.sha256(one).digest(), bytes(31) + b"\1") for one in messages)

    async def sign_app_proofs(self, payloads: Sequence[str]) -> tuple[AppProof, ...]:
        return tuple(AppProof(scheme="", public_key="", proof_payload=one, signature="") for one in payloads)


class FakeProviders:
    """The person is the one that the code names. Implements `pipeline.ports.OAuth2`."""

    own_issuer = "https://own.example"

    async def person(self, provider: Oauth2Provider, code: AuthorizationCode) -> OAuth2Person:
        return OAuth2Person(f"{provider}:{code.code}", "bearer")
