"""What the activity road needs from outside: a clock, a signer, a store. `keys` and `storage` implement them.

Here: the protocols and the values that cross them. Not here: any implementation, any rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from keystead.api.enums import AddressFormat, Curve, PathFormat
from keystead.api.records import AppProof
from keystead.organizations.organization import Sealed as Sealed


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        ...


class AccountRequest(msgspec.Struct, frozen=True):
    """An account to derive. `path` as the caller wrote it, e.g. m/44'/60'/0'/0/0."""

    curve: Curve
    path_format: PathFormat
    path: str
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
    """The key at `path` in a wallet whose mnemonic is `sealed`."""

    wallet_id: str
    sealed: Sealed
    curve: Curve
    path: str


class StandaloneKey(msgspec.Struct, frozen=True, tag="private_key"):
    """A private key of its own, `sealed`."""

    private_key_id: str
    sealed: Sealed
    curve: Curve


SigningKey = WalletKey | StandaloneKey


class SignatureScheme(StrEnum):
    """What is computed over a message. All but ED25519 take a digest of 32 bytes.

    SCHNORR is BIP-340 under the key itself; SCHNORR_KEY_PATH under the key tweaked as BIP-341 says for an output
    without scripts.
    """

    ECDSA = "ecdsa"
    SCHNORR = "schnorr"
    SCHNORR_KEY_PATH = "schnorr-key-path"
    ED25519 = "ed25519"


class Signature(msgspec.Struct, frozen=True):
    """`r` and `s` are 32 bytes each; `v` is the recovery id of ECDSA, 0 or 1, and 0 in other schemes.

    Of Schnorr and Ed25519, r and s are the halves of the 64 bytes.
    """

    r: bytes
    s: bytes
    v: int = 0


class Signer(Protocol):
    """The only door to plaintext key material. Nothing it returns is secret.

    Raises NotImplementedHere for an address format or curve it cannot derive yet, InvalidRequest for a
    path, mnemonic length or combination that cannot be.
    """

    async def new_data_key(self, organization_id: str) -> Sealed:
        """A fresh data key for an organization, sealed under the master key."""
        ...

    async def create_wallet(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        mnemonic_length: int,
        accounts: Sequence[AccountRequest],
    ) -> NewWallet:
        """Make a BIP-39 mnemonic of `mnemonic_length` words, derive the accounts, seal the mnemonic."""
        ...

    async def derive_accounts(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        wallet_id: str,
        sealed_mnemonic: Sealed,
        accounts: Sequence[AccountRequest],
    ) -> tuple[DerivedAccount, ...]:
        """More accounts of a wallet that exists, in the order of the requests."""
        ...

    async def create_private_key(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        private_key_id: str,
        curve: Curve,
        address_formats: Sequence[AddressFormat],
    ) -> NewPrivateKey:
        """Make a private key of `curve`, write its addresses, seal it."""
        ...

    async def sign(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        key: SigningKey,
        scheme: SignatureScheme,
        messages: Sequence[bytes],
    ) -> tuple[Signature, ...]:
        """One signature per message, in their order. ECDSA is deterministic (RFC 6979), with s in the lower half.

        Raises InvalidRequest for a scheme that the key's curve does not have, or a digest of another length.
        """
        ...

    async def prove(self, payloads: Sequence[str]) -> tuple[AppProof, ...]:
        """Sign each payload (JSON text) with the server's proof key."""
        ...
