"""What the pipeline needs from outside: a clock, a signer, identities. `signer` and `identities` implement them.

Here: the protocols and the values that cross them. Not here: the store (`store`), any implementation, any rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol, TypeVar

import msgspec
from msgspec import Meta

from keystead.api.enums import AddressFormat, Curve, MnemonicLanguage, Oauth2Provider, PathFormat
from keystead.api.records import AppProof
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.organizations.identities import ProvenIdentity
from keystead.organizations.kinds.data_key import Sealed as Sealed
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.sessions.oauth_tokens import OauthTokenClaims
from keystead.sessions.session_tokens import SessionClaims
from keystead.sessions.verification_tokens import VerificationToken


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        ...


class ServerClock(Clock, Protocol):
    """The one clock that a whole server goes by."""

    def caller_times_ms(self) -> tuple[int, ...]:
        """The times that a caller's clock may show, in milliseconds since the epoch: the server's first."""
        ...


class Identities(Protocol):
    """The identities that ID tokens of OpenID Connect issuers prove."""

    async def proven(self, token: str, field: str) -> ProvenIdentity:
        """The identity that a token proves now. `field` is where the request has the token.

        Raises InvalidRequest (INVALID_OIDC_TOKEN), naming the field and never the token; Unavailable while the keys
        of its issuer cannot be had.
        """
        ...


class AuthorizationCode(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider of OAuth 2.0 exchanges for a bearer token. Its repr shows no secret."""

    client_id: str
    client_secret: str
    code: str
    redirect_uri: str
    code_verifier: str

    def __repr__(self) -> str:
        return f"AuthorizationCode(client_id={self.client_id!r})"


class OAuth2Person(msgspec.Struct, frozen=True):
    """Whom a code was about. `subject` is such as x:123; `bearer_token` asks the provider in the person's name."""

    subject: str
    bearer_token: str

    def __repr__(self) -> str:
        return f"OAuth2Person(subject={self.subject!r})"


class OAuth2(Protocol):
    """Providers of OAuth 2.0 that issue no ID tokens."""

    own_issuer: str
    """The issuer of the tokens that this server signs about people of these providers."""

    async def person(self, provider: Oauth2Provider, code: AuthorizationCode) -> OAuth2Person:
        """Whom the code is about.

        Raises InvalidRequest if the provider refuses the code, Unavailable if it is out of reach.
        """
        ...


# Every value that crosses to the signer has a bound: these, far above what the operations let through.

ElementT = TypeVar("ElementT")
Id = Annotated[str, Meta(max_length=128)]
Text = Annotated[str, Meta(max_length=16_384)]
KeyBytes = Annotated[bytes, Meta(max_length=65)]
Message = Annotated[bytes, Meta(max_length=2_097_152)]
Few = Annotated[Sequence[ElementT], Meta(max_length=100)]
Many = Annotated[Sequence[ElementT], Meta(max_length=65_536)]


class AccountRequest(msgspec.Struct, frozen=True):
    """An account to derive. `path` as the caller wrote it, e.g. m/44'/60'/0'/0/0."""

    curve: Curve
    path_format: PathFormat
    path: Text
    address_format: AddressFormat


class DerivedAccount(msgspec.Struct, frozen=True):
    """`public_key` is lower-case hex: 33 bytes compressed, or the 32 bytes of ed25519."""

    request: AccountRequest
    public_key: str
    address: str


class NewWallet(msgspec.Struct, frozen=True):
    """A wallet just made: its mnemonic, sealed, and the accounts that were asked for, in their order."""

    sealed_mnemonic: Sealed
    accounts: tuple[DerivedAccount, ...]


class NewPrivateKey(msgspec.Struct, frozen=True):
    """A private key just made, sealed. `addresses` are in the order of the formats that were asked for.

    `public_key` is lower-case hex: 65 bytes uncompressed, or the 32 bytes of ed25519.
    """

    sealed: Sealed
    public_key: str
    addresses: tuple[str, ...]


class WalletKey(msgspec.Struct, frozen=True, tag="wallet"):
    """The key at `path` in a wallet whose mnemonic is `sealed`; `public_key` as in StandaloneKey."""

    wallet_id: Id
    sealed: Sealed
    curve: Curve
    path: Text
    public_key: KeyBytes


class StandaloneKey(msgspec.Struct, frozen=True, tag="private_key"):
    """A private key of its own, `sealed`.

    `public_key` is the one on record, that its signatures must verify under: 33 or 65 bytes of SEC 1, or the 32 of
    ed25519.
    """

    private_key_id: Id
    sealed: Sealed
    curve: Curve
    public_key: KeyBytes


SigningKey = WalletKey | StandaloneKey


class BundleSigner(msgspec.Struct, frozen=True, rename="camel"):
    """The public halves of the key that signs bundles, in the text forms in which clients are told of it.

    Lower-case hex: `signing_public_key` of 65 bytes, `composite_public_key` of 130, the encryption key first.
    """

    signing_public_key: str
    composite_public_key: str


class PublicInstallationKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The public half of a key of the installation, in the text form in which clients are told of it.

    `public_key`: lower-case hex of 65 bytes, a P-256 point. `composite_public_key`: of 130 bytes, an encryption key
    and then `public_key`, for clients that want both.
    """

    name: str
    use: str
    public_key: str
    composite_public_key: str | None = None


class CredentialBundle(msgspec.Struct, frozen=True):
    """A new P-256 API key: its compressed public key in lower-case hex, and the base58check text that only the
    client opens."""

    public_key: str
    bundle: str


class AuthProxyKey(msgspec.Struct, frozen=True):
    """An API key of an authentication proxy: its private half, sealed; its public key, compressed P-256 in hex."""

    sealed: Sealed
    public_key: str


class ClientMessage(msgspec.Struct, frozen=True):
    """What a client sealed to an import target: `encapped` is a point of 65 bytes."""

    encapped: KeyBytes
    ciphertext: Message


class NewImportTarget(msgspec.Struct, frozen=True):
    """A target's private half, sealed, and the signed text that tells its user the public one."""

    sealed: Sealed
    import_bundle: str


class ImportedWallet(msgspec.Struct, frozen=True):
    """`target_id`: the target whose key opened the message. It must open no other."""

    target_id: str
    wallet: NewWallet


class ImportedPrivateKey(msgspec.Struct, frozen=True):
    """As ImportedWallet."""

    target_id: str
    private_key: NewPrivateKey


class NewOtpTarget(msgspec.Struct, frozen=True):
    """The key that an attempt at a one-time code is encrypted to: its private half, sealed, and a signed text."""

    sealed: Sealed
    bundle: str


class OtpAttempt(msgspec.Struct, frozen=True):
    """What a client encrypted: the code as it was typed, and the key that the verification token shall name."""

    code: Annotated[str, Meta(max_length=64)]
    public_key: Annotated[str, Meta(max_length=130)]


class Signer(Protocol):
    """The only access to plaintext key material. Nothing that it returns is secret.

    Raises InvalidRequest for a path, mnemonic length or combination of curve and address format that cannot be.
    """

    async def new_data_key(self, organization_id: Id) -> Sealed:
        """A fresh data key for an organization, sealed under the master key."""
        ...

    async def create_wallet(
        self,
        *,
        organization_id: Id,
        data_key: Sealed,
        wallet_id: Id,
        mnemonic_length: Annotated[int, Meta(ge=0, le=100)],
        accounts: Many[AccountRequest],
    ) -> NewWallet:
        """Make a BIP-39 mnemonic of `mnemonic_length` words, derive the accounts, seal the mnemonic."""
        ...

    async def derive_accounts(
        self,
        *,
        organization_id: Id,
        data_key: Sealed,
        wallet_id: Id,
        sealed_mnemonic: Sealed,
        accounts: Many[AccountRequest],
    ) -> tuple[DerivedAccount, ...]:
        """More accounts of a wallet that exists, in the order of the requests."""
        ...

    async def create_private_key(
        self,
        *,
        organization_id: Id,
        data_key: Sealed,
        private_key_id: Id,
        curve: Curve,
        address_formats: Few[AddressFormat],
    ) -> NewPrivateKey:
        """Make a private key of `curve`, write its addresses, seal it."""
        ...

    async def sign(
        self,
        *,
        organization_id: Id,
        data_key: Sealed,
        key: SigningKey,
        scheme: SignatureScheme,
        messages: Many[Message],
    ) -> tuple[Signature, ...]:
        """One signature per message, in their order. ECDSA is deterministic (RFC 6979), with s in the lower half.

        Raises InvalidRequest for a scheme that the key's curve does not have, or a digest of another length.
        """
        ...

    async def installation_keys(self) -> tuple[PublicInstallationKey, ...]:
        """The public halves of the installation's keys, which clients have to be told."""
        ...

    async def sign_session_token(self, claims: SessionClaims) -> str:
        """The session JWT that states these claims."""
        ...

    async def sign_verification_token(self, token: VerificationToken) -> str:
        """The JWT that states what the token does."""
        ...

    async def new_credential_bundle(self, target: KeyBytes) -> CredentialBundle:
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
        target: KeyBytes | None,
    ) -> str:
        """An ID token about a person of an OAuth 2.0 provider, with the bearer token encrypted to `target` if both
        are given (65 bytes, a P-256 point)."""
        ...

    async def new_auth_proxy_key(self, *, organization_id: Id, data_key: Sealed, proxy_id: Id) -> AuthProxyKey:
        """Make the API key with which an authentication proxy stamps its requests."""
        ...

    async def sign_auth_proxy_request(
        self, *, organization_id: Id, data_key: Sealed, proxy_id: Id, sealed_key: Sealed, body: Message
    ) -> bytes:
        """The signature (ECDSA over SHA-256, DER) of that key over the body of a request."""
        ...

    async def new_otp_target(self, *, organization_id: Id, data_key: Sealed, otp_id: Id) -> NewOtpTarget:
        """Make a fresh key that attempts at this one-time code are encrypted to."""
        ...

    async def open_otp_attempt(
        self, *, organization_id: Id, data_key: Sealed, otp_id: Id, sealed: Sealed, message: ClientMessage
    ) -> OtpAttempt:
        """What is in an attempt. Raises InvalidRequest if it does not open with the key that `sealed` holds."""
        ...

    async def code_digest(
        self, *, organization_id: Id, data_key: Sealed, otp_id: Id, code: Annotated[str, Meta(max_length=64)]
    ) -> bytes:
        """32 bytes to store in place of a one-time code: without the data key no code can be tried against them."""
        ...

    async def seal_message(self, *, organization_id: Id, data_key: Sealed, message_id: Id, text: Message) -> Sealed:
        """Seal a message that is to be sent."""
        ...

    async def open_message(self, *, organization_id: Id, data_key: Sealed, message_id: Id, sealed: Sealed) -> bytes:
        """The text of a message that `seal_message` sealed; nothing else opens here."""
        ...

    async def bundle_signer(self) -> BundleSigner:
        """Whose signature clients have to expect on bundles."""
        ...

    async def new_import_target(
        self, *, organization_id: Id, data_key: Sealed, target_id: Id, kind: ImportKind, user_id: Id
    ) -> NewImportTarget:
        """Make a fresh key for one import of this kind by this user."""
        ...

    async def import_wallet(
        self,
        *,
        organization_id: Id,
        data_key: Sealed,
        targets: Few[ImportTarget],
        message: ClientMessage,
        wallet_id: Id,
        accounts: Many[AccountRequest],
    ) -> ImportedWallet:
        """Make a wallet of the mnemonic in the message, which one of the targets opens; the first is tried first.

        Raises InvalidRequest with `failed to decrypt bundle` if none does, `invalid mnemonic` if that is inside.
        """
        ...

    async def import_private_key(
        self,
        *,
        organization_id: Id,
        data_key: Sealed,
        targets: Few[ImportTarget],
        message: ClientMessage,
        private_key_id: Id,
        curve: Curve,
        address_formats: Few[AddressFormat],
    ) -> ImportedPrivateKey:
        """Keep the private key in the message, as `import_wallet` does.

        Raises InvalidRequest with `invalid private key` if no key of this curve is inside.
        """
        ...

    async def export_wallet(
        self,
        *,
        organization_id: Id,
        data_key: Sealed,
        wallet_id: Id,
        sealed_mnemonic: Sealed,
        language: MnemonicLanguage,
        target: KeyBytes,
    ) -> str:
        """The wallet's mnemonic in a signed bundle that only the P-256 key `target` (65 bytes, a point) opens."""
        ...

    async def export_key(self, *, organization_id: Id, data_key: Sealed, key: SigningKey, target: KeyBytes) -> str:
        """The 32 bytes of a key, likewise."""
        ...

    async def prove(self, payloads: Many[Text]) -> tuple[AppProof, ...]:
        """Sign each payload (JSON text) with the server's proof key."""
        ...
