"""What belongs to an organization but is too large or too numerous for its value: each kind has a table.

Here: what an activity writes there or takes away. Not here: the tables, and how they are read by page.
"""

from __future__ import annotations

import msgspec

from keystead.api.records import WalletAccount
from keystead.organizations.kinds.data_key import Sealed

MNEMONIC_PURPOSE = "wallet-mnemonic"
"""What the sealed secret of a wallet is for."""

PRIVATE_KEY_PURPOSE = "private-key"
"""What the sealed secret of a private key is for."""


class InterfaceText(msgspec.Struct, frozen=True):
    """The ABI or IDL of a contract interface, as it was given."""

    contract_interface_id: str
    text: str


class RemovedInterfaceText(msgspec.Struct, frozen=True):
    contract_interface_id: str


class NewAccount(msgspec.Struct, frozen=True):
    """A wallet account. `normalized_path` is the one form of all spellings of its path."""

    account: WalletAccount
    normalized_path: str


class StoredAccount(msgspec.Struct, frozen=True):
    """A wallet account as it is kept. `exported`: its key has left on its own; its wallet may have left too."""

    account: WalletAccount
    exported: bool = False


class ChangedAccount(msgspec.Struct, frozen=True):
    """A wallet account in the place of the one of the same id. Its path, address and wallet stay."""

    account: WalletAccount
    normalized_path: str
    exported: bool


class RemovedAccount(msgspec.Struct, frozen=True):
    account: WalletAccount


class RemovedWalletContents(msgspec.Struct, frozen=True):
    """All accounts of a wallet go, what they are found by, and its sealed secret."""

    wallet_id: str


class SealedSecret(msgspec.Struct, frozen=True):
    """Secret material of the record `record_id`; `purpose` says what it is, e.g. "wallet-mnemonic"."""

    record_id: str
    purpose: str
    sealed: Sealed


class RemovedSecret(msgspec.Struct, frozen=True):
    record_id: str
    purpose: str


class Dissolution(msgspec.Struct, frozen=True):
    """Everything that the organization has in these tables and in the index of look-ups goes: it was deleted."""


Attachment = (
    InterfaceText
    | RemovedInterfaceText
    | NewAccount
    | ChangedAccount
    | RemovedAccount
    | RemovedWalletContents
    | SealedSecret
    | RemovedSecret
    | Dissolution
)
