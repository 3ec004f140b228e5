"""Data of an organization that is too large or too numerous for its value: each kind has a table of its own.

Here: the rows that an activity writes or deletes; each kind is one class with its table, row and removal.
Not here: creating the tables (`storage/sql`), and how they are read by page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import msgspec

from keystead.api.records import WalletAccount
from keystead.chains.addresses.stored_forms import stored_form
from keystead.organizations.attached_rows import AttachedRow, AttachedTable, RemovedRow
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.organizations.contacts.outgoing_messages import EmailEventRow, OutgoingMessage
from keystead.organizations.contacts.sending_windows import SendingWindow
from keystead.organizations.contacts.used_tokens import UsedToken
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.lookups import Lookup, account_lookups
from keystead.organizations.refused_requests import RefusedRequest
from keystead.organizations.velocity.counters import VelocityCounter, VelocityEntry
from keystead.organizations.webhooks.webhooks import WebhookDelivery, WebhookEvent, WebhookLease

MNEMONIC_PURPOSE = "wallet-mnemonic"
"""The purpose of the sealed secret of a wallet."""

PRIVATE_KEY_PURPOSE = "private-key"
"""The purpose of the sealed secret of a private key."""

SECRET_PURPOSE = "secret"  # noqa: S105 (a name, not a secret)
"""The purpose of the sealed value of a secret that is not a key."""

_encode = msgspec.json.Encoder().encode


class InterfaceText(AttachedRow, frozen=True):
    """The ABI or IDL of a contract interface, as it was uploaded."""

    table = AttachedTable(name="interface_text", key=(("id", str),), columns=(("text", bytes),))

    contract_interface_id: str
    text: str

    def row(self) -> tuple[Any, ...]:
        return (self.contract_interface_id, self.text.encode())

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Self:
        return cls(row[0], row[1].decode())

    @classmethod
    def removal(cls, contract_interface_id: str) -> RemovedRow:
        """The deletion of the text of this contract interface."""
        return RemovedRow(cls.table, (contract_interface_id,))


class ChangedAccount(AttachedRow, frozen=True):
    """A wallet account that replaces the one of the same id. Its path, address and wallet stay the same.

    `normalized_path` is the canonical form of its path. `exported`: its key was exported on its own.
    """

    table = AttachedTable(
        name="wallet_account",
        key=(("id", str),),
        columns=(
            ("wallet_id", str),
            ("normalized_path", str),
            ("curve", str),
            ("address_format", str),
            ("address", str),
            ("name", str),
            ("exported", bool),
            ("body", bytes),
        ),
        is_replaced=True,
    )

    account: WalletAccount
    normalized_path: str
    exported: bool = False

    def row(self) -> tuple[Any, ...]:
        account = self.account
        return (
            account.wallet_account_id,
            account.wallet_id,
            self.normalized_path,
            str(account.curve),
            str(account.address_format),
            stored_form(account.address_format, account.address),
            account.name,
            self.exported,
            _encode(account),
        )

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Self:
        *_, normalized_path, _curve, _format, _address, _name, exported, body = row
        return cls(msgspec.json.decode(body, type=WalletAccount), normalized_path, bool(exported))


class NewAccount(ChangedAccount, frozen=True):
    """A new wallet account."""

    def lookups(self) -> frozenset[Lookup]:
        return account_lookups([self.account])

    @classmethod
    def removal(cls, account: WalletAccount) -> RemovedRow:
        """The deletion of this wallet account."""
        return RemovedRow(cls.table, (account.wallet_account_id,), account_lookups([account]))


class StoredAccount(msgspec.Struct, frozen=True):
    """A wallet account as it is read. `exported`: its key was exported on its own. Its wallet may have been
    exported, too."""

    account: WalletAccount
    exported: bool = False


class SealedSecret(AttachedRow, frozen=True):
    """Secret material of the record `record_id`; `purpose` says what it is, e.g. "wallet-mnemonic"."""

    table = AttachedTable(
        name="sealed_secret",
        key=(("record_id", str), ("purpose", str)),
        columns=(("key_id", str), ("ciphertext", bytes)),
        is_deleted_at_once=True,
    )

    record_id: str
    purpose: str
    sealed: Sealed

    def row(self) -> tuple[Any, ...]:
        return (self.record_id, self.purpose, self.sealed.key_id, self.sealed.ciphertext)

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Self:
        record_id, purpose, *sealed = row
        return cls(record_id, purpose, Sealed(*sealed))

    @classmethod
    def removal(cls, record_id: str, purpose: str) -> RemovedRow:
        """The deletion of the secret of this record and purpose."""
        return RemovedRow(cls.table, (record_id, purpose))


ATTACHED_ROWS: tuple[type[AttachedRow], ...] = (
    InterfaceText,
    ChangedAccount,
    SealedSecret,
    OneTimeCode,
    SendingWindow,
    UsedToken,
    OutgoingMessage,
    EmailEventRow,
    WebhookEvent,
    WebhookDelivery,
    WebhookLease,
    VelocityCounter,
    VelocityEntry,
    RefusedRequest,
)
"""Every kind of attached rows. A new kind is added here, and its table in a migration."""

ATTACHED_TABLES: tuple[AttachedTable, ...] = tuple(kind.table for kind in ATTACHED_ROWS)
"""Their tables."""


class RemovedWalletAccounts(msgspec.Struct, frozen=True):
    """Deletes all accounts of a wallet with their look-ups: no read finds them. Their rows are deleted in steps."""

    wallet_id: str


class RemovedOrganizationContents(msgspec.Struct, frozen=True):
    """Deletes all attached rows and look-ups of an organization that was deleted. Its secrets are deleted in the
    same transaction, all other rows in steps."""


Attachment = AttachedRow | RemovedRow | RemovedWalletAccounts | RemovedOrganizationContents
