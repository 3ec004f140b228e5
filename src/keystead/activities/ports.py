"""What the activity road needs from outside: a clock, a signer, a store. `keys` and `storage` implement them.

Here: the protocols and the values that cross them. Not here: any implementation, any rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
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


class SignatureScheme(Enum):
    """How a message is signed. Which scheme fits which curve and address format is the caller's knowledge."""

    ECDSA = "ECDSA over a 32-byte digest, on the curve of the key"
    SCHNORR = "BIP-340 over 32 bytes, by the key as it is"
    SCHNORR_KEY_PATH = "BIP-340 over 32 bytes, by the key tweaked as BIP-341 says for an empty script tree"
    ED25519 = "Ed25519 over the message"


class Signature(msgspec.Struct, frozen=True):
    """`r` and `s` are 32 bytes each; `v` is the recovery id, 0 or 1, and 0 where a scheme has none."""

    r: bytes
    s: bytes
    v: int


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

    async def prove(self, payloads: Sequence[str]) -> tuple[AppProof, ...]:
        """Sign each payload (JSON text) with the server's proof key."""
        ...
