"""The values that the signer gets and returns, and how long each may be.

Here: public values and sealed ones. Not here: the calls (`signer_port`), how values travel (`signer.rpc`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from keystead.api.enums import AddressFormat, Curve, PathFormat
from keystead.api.secret_fields import repr_without_secrets
from keystead.organizations.kinds.data_key import Sealed as Sealed

# Every value that is sent to the signer has one of these bounds, which are far above the limits of the operations.

ElementT = TypeVar("ElementT")
Id = Annotated[str, Meta(max_length=128)]
Text = Annotated[str, Meta(max_length=16_384)]
KeyBytes = Annotated[bytes, Meta(max_length=65)]
PayloadBytes = Annotated[bytes, Meta(max_length=2_097_152)]
WebhookBody = Annotated[bytes, Meta(max_length=3_145_728)]
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

    `public_key`: lower-case hex of 65 bytes, a P-256 point; of 32 bytes for the key that signs webhooks, which is
    Ed25519. `composite_public_key`: lower-case hex of 130 bytes, an encryption key and then `public_key`, for
    clients that need both.
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

    __repr__ = repr_without_secrets


class AuthProxyKey(msgspec.Struct, frozen=True):
    """An API key of an authentication proxy: its sealed private half, and its compressed P-256 public key in
    hex."""

    sealed: Sealed
    public_key: str


class ClientMessage(msgspec.Struct, frozen=True):
    """What a client encrypted to the public key of a target. `encapped` is a P-256 point of 65 bytes."""

    encapped: KeyBytes
    ciphertext: PayloadBytes


class NewImportTarget(msgspec.Struct, frozen=True):
    """The sealed private half of an import target, the signed text that gives its user the public half, and that
    half: lower-case hex of 65 bytes."""

    sealed: Sealed
    import_bundle: str
    public_key: str


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

    __repr__ = repr_without_secrets


class OtpAttempt(msgspec.Struct, frozen=True):
    """What a client encrypted: the code that the user typed, and the public key for the verification token."""

    code: Annotated[str, Meta(max_length=64)]
    public_key: Annotated[str, Meta(max_length=130)]

    def __repr__(self) -> str:
        return f"OtpAttempt(public_key={self.public_key!r})"
