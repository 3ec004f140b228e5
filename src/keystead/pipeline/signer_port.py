"""The calls of the signer. The package `signer` implements them.

Not here: the values that they take and return (`signer_values`), how calls travel (`signer.rpc`).
"""

from __future__ import annotations

from typing import Annotated, Protocol

from msgspec import Meta

from keystead.api.enums import AddressFormat, Curve, MnemonicLanguage
from keystead.api.records import AppProof
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.organizations.kinds.data_key import Sealed as Sealed
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.pipeline import signer_values
from keystead.sessions.oauth_tokens import OauthTokenClaims
from keystead.sessions.session_tokens import SessionClaims
from keystead.sessions.verification_tokens import VerificationToken
from keystead.sessions.wallet_tokens import WalletToken


class Signer(Protocol):
    """The only access to plaintext key material. Nothing that it returns is secret.

    Raises InvalidRequest for an invalid path, mnemonic length, or combination of curve and address format.
    """

    async def new_data_key(self, organization_id: signer_values.Id) -> Sealed:
        """A fresh data key for an organization, sealed under the master key."""
        ...

    async def create_wallet(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        wallet_id: signer_values.Id,
        mnemonic_length: Annotated[int, Meta(ge=0, le=100)],
        accounts: signer_values.Many[signer_values.AccountRequest],
    ) -> signer_values.NewWallet:
        """Make a BIP-39 mnemonic of `mnemonic_length` words, derive the accounts, seal the mnemonic."""
        ...

    async def derive_accounts(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        wallet_id: signer_values.Id,
        sealed_mnemonic: Sealed,
        accounts: signer_values.Many[signer_values.AccountRequest],
    ) -> tuple[signer_values.DerivedAccount, ...]:
        """Derive accounts of an existing wallet, in the order of the requests."""
        ...

    async def create_private_key(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        private_key_id: signer_values.Id,
        curve: Curve,
        address_formats: signer_values.Few[AddressFormat],
    ) -> signer_values.NewPrivateKey:
        """Make a private key of `curve`, compute its addresses, seal it."""
        ...

    async def sign(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        key: signer_values.SigningKey,
        scheme: SignatureScheme,
        messages: signer_values.Many[signer_values.PayloadBytes],
    ) -> tuple[Signature, ...]:
        """One signature per message, in their order. ECDSA is deterministic (RFC 6979), with s in the lower half.

        Raises InvalidRequest for a scheme that the key's curve does not have, or a digest of the wrong length.
        """
        ...

    async def installation_keys(self) -> tuple[signer_values.PublicInstallationKey, ...]:
        """The public halves of the installation's keys, which clients are configured with."""
        ...

    async def missing_installation_keys(self) -> dict[signer_values.Id, Sealed]:
        """New sealed keys that an installation lacks because an earlier version of the server made it."""
        ...

    async def sign_webhook(
        self,
        *,
        timestamp_ms: Annotated[int, Meta(ge=0, le=2**53)],
        event_id: signer_values.Id,
        body: signer_values.WebhookBody,
    ) -> bytes:
        """The Ed25519 signature (64 bytes) of an attempt to deliver an event, over
        `v1.ed25519.KEY.TIMESTAMP.EVENT.BODY`."""
        ...

    async def sign_session_token(self, claims: SessionClaims) -> str:
        """The session JWT that states these claims."""
        ...

    async def sign_verification_token(self, token: VerificationToken) -> str:
        """The JWT of this verification token."""
        ...

    async def sign_wallet_token(self, token: WalletToken) -> str:
        """The JWT of this wallet verification token."""
        ...

    async def new_credential_bundle(self, target: signer_values.KeyBytes) -> signer_values.CredentialBundle:
        """Make an API key whose private half is sealed to the client's P-256 key `target` (65 bytes, a point)."""
        ...

    async def open_client_secret(self, envelope: Annotated[bytes, Meta(max_length=8192)]) -> bytes:
        """An OAuth 2.0 client secret that was encrypted to this server.

        Raises InvalidRequest with `invalid encrypted client secret` if it does not open.
        """
        ...

    async def sign_oauth_token(
        self,
        *,
        claims: OauthTokenClaims,
        bearer_token: Annotated[bytes, Meta(max_length=16_384)] | None,
        target: signer_values.KeyBytes | None,
    ) -> str:
        """An ID token for a person of an OAuth 2.0 provider. If both are given, it holds the bearer token
        encrypted to `target` (65 bytes, a P-256 point)."""
        ...

    async def new_auth_proxy_key(
        self, *, organization_id: signer_values.Id, data_key: Sealed, proxy_id: signer_values.Id
    ) -> signer_values.AuthProxyKey:
        """Make the API key with which an authentication proxy stamps its requests."""
        ...

    async def sign_auth_proxy_request(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        proxy_id: signer_values.Id,
        sealed_key: Sealed,
        body: signer_values.PayloadBytes,
    ) -> bytes:
        """The signature (ECDSA over SHA-256, DER) of an authentication proxy's key over the body of a request."""
        ...

    async def new_otp_target(
        self, *, organization_id: signer_values.Id, data_key: Sealed, otp_id: signer_values.Id
    ) -> signer_values.NewOtpTarget:
        """Make a new key for the encryption of attempts at this one-time code."""
        ...

    async def open_otp_attempt(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        otp_id: signer_values.Id,
        sealed: Sealed,
        message: signer_values.ClientMessage,
    ) -> signer_values.OtpAttempt:
        """Open an attempt with the key in `sealed`. Raises InvalidRequest if it does not open."""
        ...

    async def code_digest(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        otp_id: signer_values.Id,
        code: Annotated[str, Meta(max_length=64)],
    ) -> bytes:
        """32 bytes to store in place of a one-time code. Without the data key, nobody can search for the code."""
        ...

    async def seal_message(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        message_id: signer_values.Id,
        text: signer_values.PayloadBytes,
    ) -> Sealed:
        """Seal a message that is to be sent."""
        ...

    async def open_message(
        self, *, organization_id: signer_values.Id, data_key: Sealed, message_id: signer_values.Id, sealed: Sealed
    ) -> bytes:
        """Open a message that `seal_message` sealed. No other ciphertext opens."""
        ...

    async def bundle_signer(self) -> signer_values.BundleSigner:
        """The key whose signature clients expect on bundles."""
        ...

    async def new_import_target(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        target_id: signer_values.Id,
        kind: ImportKind,
        user_id: signer_values.Id,
    ) -> signer_values.NewImportTarget:
        """Make a new key for one import of this kind by this user."""
        ...

    async def import_wallet(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        targets: signer_values.Few[ImportTarget],
        message: signer_values.ClientMessage,
        wallet_id: signer_values.Id,
        accounts: signer_values.Many[signer_values.AccountRequest],
    ) -> signer_values.ImportedWallet:
        """Make a wallet of the mnemonic in the message. The targets are tried in their order until one opens the
        message.

        Raises InvalidRequest: `failed to decrypt bundle` if no target opens it, `invalid mnemonic` if the message
        holds no valid mnemonic.
        """
        ...

    async def import_private_key(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        targets: signer_values.Few[ImportTarget],
        message: signer_values.ClientMessage,
        private_key_id: signer_values.Id,
        curve: Curve,
        address_formats: signer_values.Few[AddressFormat],
    ) -> signer_values.ImportedPrivateKey:
        """Seal the private key in the message. The targets are tried as in `import_wallet`.

        Raises InvalidRequest with `invalid private key` if the message holds no key of this curve.
        """
        ...

    async def import_secret(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        target: ImportTarget,
        message: signer_values.ClientMessage,
        secret_id: signer_values.Id,
    ) -> Sealed:
        """Seal the secret in the message. Raises InvalidRequest with `failed to decrypt bundle` if the target does
        not open it."""
        ...

    async def export_secret(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        secret_id: signer_values.Id,
        sealed: Sealed,
        target: signer_values.KeyBytes,
    ) -> str:
        """A secret that `import_secret` sealed, in a bundle as in `export_wallet`."""
        ...

    async def export_wallet(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        wallet_id: signer_values.Id,
        sealed_mnemonic: Sealed,
        language: MnemonicLanguage,
        target: signer_values.KeyBytes,
    ) -> str:
        """The wallet's mnemonic in a signed bundle that only the holder of the P-256 key `target` (65 bytes, a
        point) can open."""
        ...

    async def export_key(
        self,
        *,
        organization_id: signer_values.Id,
        data_key: Sealed,
        key: signer_values.SigningKey,
        target: signer_values.KeyBytes,
    ) -> str:
        """The 32 bytes of a key, in a bundle as in `export_wallet`."""
        ...

    async def sign_app_proofs(self, payloads: signer_values.Many[signer_values.Text]) -> tuple[AppProof, ...]:
        """Sign each payload (JSON text) with the server's proof key."""
        ...
