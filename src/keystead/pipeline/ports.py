"""What the pipeline needs from outside: a clock, a signer, identities. The packages `signer` and `identities`
implement them.

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

        Raises InvalidRequest (INVALID_OIDC_TOKEN), which names the field and never the token, and Unavailable
        while the keys of the issuer cannot be fetched.
        """
        ...


class AuthorizationCode(msgspec.Struct, frozen=True, kw_only=True):
    """What an OAuth 2.0 provider exchanges for a bearer token. Its repr shows no secret."""

    client_id: str
    client_secret: str
    code: str
    redirect_uri: str
    code_verifier: str

    def __repr__(self) -> str:
        return f"AuthorizationCode(client_id={self.client_id!r})"


class OAuth2Person(msgspec.Struct, frozen=True):
    """The person that a code identifies. `subject` looks like x:123. `bearer_token` authorizes requests to the
    provider."""

    subject: str
    bearer_token: str

    def __repr__(self) -> str:
        return f"OAuth2Person(subject={self.subject!r})"


class OAuth2(Protocol):
    """OAuth 2.0 providers that issue no ID tokens."""

    own_issuer: str
    """The issuer of the tokens that this server signs about people of these providers."""

    async def person(self, provider: Oauth2Provider, code: AuthorizationCode) -> OAuth2Person:
        """The person that the code identifies.

        Raises InvalidRequest if the provider refuses the code, Unavailable if the provider cannot be reached.
        """
        ...


# Every value that is sent to the signer has one of these bounds. They are far above what the operations allow.

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
    """A new wallet: its sealed mnemonic, and its accounts in the order of the requests."""

    sealed_mnemonic: Sealed
    accounts: tuple[DerivedAccount, ...]


class NewPrivateKey(msgspec.Struct, frozen=True):
    """A new private key, sealed. `addresses` are in the order of the requested formats.

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
    """A private key that belongs to no wallet.

    `public_key` is on record, and its signatures must verify under it: 33 or 65 bytes of SEC 1, or the 32 bytes
    of ed25519.
    """

    private_key_id: Id
    sealed: Sealed
    curve: Curve
    public_key: KeyBytes


SigningKey = WalletKey | StandaloneKey


class BundleSigner(msgspec.Struct, frozen=True, rename="camel"):
    """The public half of the key that signs bundles, as clients are configured with it.

    Lower-case hex: `signing_public_key` of 65 bytes; `composite_public_key` of 130 bytes, the encryption key
    first.
    """

    signing_public_key: str
    composite_public_key: str


class PublicInstallationKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The public half of a key of the installation, as clients are configured with it.

    `public_key`: lower-case hex of 65 bytes, a P-256 point. `composite_public_key`: of 130 bytes, an encryption key
    and then `public_key`, for clients that want both.
    """

    name: str
    use: str
    public_key: str
    composite_public_key: str | None = None


class CredentialBundle(msgspec.Struct, frozen=True):
    """A new P-256 API key: its compressed public key in lower-case hex, and the base58check text that only the
    client can open."""

    public_key: str
    bundle: str


class AuthProxyKey(msgspec.Struct, frozen=True):
    """An API key of an authentication proxy: its sealed private half, and its compressed P-256 public key in
    hex."""

    sealed: Sealed
    public_key: str


class ClientMessage(msgspec.Struct, frozen=True):
    """What a client encrypted to the public key of a target. `encapped` is a P-256 point of 65 bytes."""

    encapped: KeyBytes
    ciphertext: Message


class NewImportTarget(msgspec.Struct, frozen=True):
    """The sealed private half of an import target, and the signed text that gives its user the public half."""

    sealed: Sealed
    import_bundle: str


class ImportedWallet(msgspec.Struct, frozen=True):
    """`target_id`: the target whose key opened the message. The target must not be used again."""

    target_id: str
    wallet: NewWallet


class ImportedPrivateKey(msgspec.Struct, frozen=True):
    """`target_id`: see ImportedWallet."""

    target_id: str
    private_key: NewPrivateKey


class NewOtpTarget(msgspec.Struct, frozen=True):
    """The key that attempts at a one-time code are encrypted to: its sealed private half, and the signed text
    that gives the client the public half."""

    sealed: Sealed
    bundle: str


class OtpAttempt(msgspec.Struct, frozen=True):
    """What a client encrypted: the code that the user typed, and the public key for the verification token."""

    code: Annotated[str, Meta(max_length=64)]
    public_key: Annotated[str, Meta(max_length=130)]


class Signer(Protocol):
    """The only access to plaintext key material. Nothing that it returns is secret.

    Raises InvalidRequest for an invalid path, mnemonic length, or combination of curve and address format.
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
        """Derive accounts of an existing wallet, in the order of the requests."""
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
        """Make a private key of `curve`, compute its addresses, seal it."""
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

        Raises InvalidRequest for a scheme that the key's curve does not have, or a digest of the wrong length.
        """
        ...

    async def installation_keys(self) -> tuple[PublicInstallationKey, ...]:
        """The public halves of the installation's keys, which clients are configured with."""
        ...

    async def sign_session_token(self, claims: SessionClaims) -> str:
        """The session JWT that states these claims."""
        ...

    async def sign_verification_token(self, token: VerificationToken) -> str:
        """The JWT of this verification token."""
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
        """An ID token for a person of an OAuth 2.0 provider. If both are given, it holds the bearer token
        encrypted to `target` (65 bytes, a P-256 point)."""
        ...

    async def new_auth_proxy_key(self, *, organization_id: Id, data_key: Sealed, proxy_id: Id) -> AuthProxyKey:
        """Make the API key with which an authentication proxy stamps its requests."""
        ...

    async def sign_auth_proxy_request(
        self, *, organization_id: Id, data_key: Sealed, proxy_id: Id, sealed_key: Sealed, body: Message
    ) -> bytes:
        """The signature (ECDSA over SHA-256, DER) of an authentication proxy's key over the body of a request."""
        ...

    async def new_otp_target(self, *, organization_id: Id, data_key: Sealed, otp_id: Id) -> NewOtpTarget:
        """Make a new key for the encryption of attempts at this one-time code."""
        ...

    async def open_otp_attempt(
        self, *, organization_id: Id, data_key: Sealed, otp_id: Id, sealed: Sealed, message: ClientMessage
    ) -> OtpAttempt:
        """Open an attempt with the key in `sealed`. Raises InvalidRequest if it does not open."""
        ...

    async def code_digest(
        self, *, organization_id: Id, data_key: Sealed, otp_id: Id, code: Annotated[str, Meta(max_length=64)]
    ) -> bytes:
        """32 bytes to store in place of a one-time code. Without the data key, nobody can search for the code."""
        ...

    async def seal_message(self, *, organization_id: Id, data_key: Sealed, message_id: Id, text: Message) -> Sealed:
        """Seal a message that is to be sent."""
        ...

    async def open_message(self, *, organization_id: Id, data_key: Sealed, message_id: Id, sealed: Sealed) -> bytes:
        """Open a message that `seal_message` sealed. No other ciphertext opens."""
        ...

    async def bundle_signer(self) -> BundleSigner:
        """The key whose signature clients expect on bundles."""
        ...

    async def new_import_target(
        self, *, organization_id: Id, data_key: Sealed, target_id: Id, kind: ImportKind, user_id: Id
    ) -> NewImportTarget:
        """Make a new key for one import of this kind by this user."""
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
        """Make a wallet of the mnemonic in the message. The targets are tried in their order until one opens the
        message.

        Raises InvalidRequest: `failed to decrypt bundle` if no target opens it, `invalid mnemonic` if the message
        holds no valid mnemonic.
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
        """Seal the private key in the message. The targets are tried as in `import_wallet`.

        Raises InvalidRequest with `invalid private key` if the message holds no key of this curve.
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
        """The wallet's mnemonic in a signed bundle that only the holder of the P-256 key `target` (65 bytes, a
        point) can open."""
        ...

    async def export_key(self, *, organization_id: Id, data_key: Sealed, key: SigningKey, target: KeyBytes) -> str:
        """The 32 bytes of a key, in a bundle as in `export_wallet`."""
        ...

    async def prove(self, payloads: Many[Text]) -> tuple[AppProof, ...]:
        """Sign each payload (JSON text) with the server's proof key."""
        ...
