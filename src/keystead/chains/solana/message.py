"""Solana messages: the rules of a well-formed one, and which account an index means.

Here: what all versions have in common. Not here: the bytes (`wire`), the meaning of an instruction
(`token_program`, `interfaces`), signing (`transaction`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from keystead.chains.addresses.text import base58
from keystead.chains.bounds import (
    SOLANA_ACCOUNTS_MAX,
    SOLANA_V1_INSTRUCTIONS_MAX,
    SOLANA_V1_KEYS_MAX,
    SOLANA_V1_SIGNERS_MAX,
)
from keystead.chains.solana.facts import AccountKey
from keystead.chains.solana.wire import (
    RawMessage,
    TransactionConfig,
    TransactionVersion,
    WireTransaction,
    read_transaction,
)
from keystead.chains.transaction import unparsable
from keystead.primitives.unreadable import Unreadable

LOOKED_UP: Final = Unreadable(
    "an address lookup table, which is on the chain, has the key of this account", literal="ADDRESS_TABLE_LOOKUP"
)
"""Stands for the key of an account that an address lookup table names. The documentation writes it as this
literal."""

_HEAP_BYTES, _HEAP_BYTES_STEP = range(32 * 1024, 256 * 1024 + 1), 1024
_UPGRADEABLE_LOADER: Final = "BPFLoaderUpgradeab1e11111111111111111111111"


class Account(msgspec.Struct, frozen=True):
    """An account of an instruction. `table`: the lookup table that has it, and its index there; None if the
    transaction has its key."""

    key: AccountKey
    signer: bool
    writable: bool
    table: tuple[str, int] | None = None


class Instruction(msgspec.Struct, frozen=True):
    """A call of a program. `program` is in base 58."""

    program: str
    accounts: tuple[Account, ...]
    data: bytes

    def keys(self) -> list[AccountKey]:
        return [account.key for account in self.accounts]


class LookedUpAccounts(msgspec.Struct, frozen=True):
    """Accounts taken from an address lookup table, by their indexes there."""

    key: str
    writable: bytes
    readonly: bytes


class SolanaMessage(msgspec.Struct, frozen=True):
    """`signed`: the bytes that each signer signs. `signers`: how many of the keys, from the first on, must sign.
    `slots_begin`: where the signature slot of the first of them begins in the transaction.

    `accounts`: in the order that indexes count, first those of the keys. `config`: None before version 1.
    """

    version: TransactionVersion
    signed: bytes
    slots_begin: int
    signers: int
    keys: tuple[bytes, ...]
    accounts: tuple[Account, ...]
    recent_blockhash: str
    instructions: tuple[Instruction, ...]
    tables: tuple[LookedUpAccounts, ...]
    config: TransactionConfig | None


def read_message(unsigned: bytes) -> SolanaMessage:
    """The message of a whole transaction.

    Raises InvalidRequest unless the bytes are a transaction, in one spelling, that keeps the rules of the network.
    """
    wire = read_transaction(unsigned)
    raw = wire.message
    _check(wire)
    if raw.config is not None:
        _check_v1(raw, raw.config)
    tables = tuple(LookedUpAccounts(base58(table.key), table.writable, table.readonly) for table in raw.tables)
    written_keys = [base58(key) for key in raw.keys]
    accounts = _accounts(raw, written_keys, tables)
    return SolanaMessage(
        version=raw.version,
        signed=wire.signed,
        slots_begin=wire.slots_begin,
        signers=raw.header.signers,
        keys=raw.keys,
        accounts=tuple(accounts),
        recent_blockhash=base58(raw.blockhash),
        instructions=tuple(
            Instruction(written_keys[call.program], tuple(accounts[index] for index in call.accounts), call.data)
            for call in raw.instructions
        ),
        tables=tables,
        config=raw.config,
    )


def _check(wire: WireTransaction) -> None:
    """Raise InvalidRequest unless the message keeps the rules of the network's `sanitize`, and no key occurs
    twice."""
    header, keys = wire.message.header, wire.message.keys
    if wire.slots != header.signers:
        raise unparsable(f"{wire.slots} signature slots for {header.signers} required signers")
    if header.readonly_signers >= header.signers:
        raise unparsable("no writable signer to pay the fee")
    if header.signers + header.readonly_others > len(keys):
        raise unparsable(f"its header counts more accounts than its {len(keys)} keys")
    if len(set(keys)) != len(keys):
        raise unparsable("an account key occurs twice")
    total = len(keys)
    for table in wire.message.tables:
        taken = len(table.writable) + len(table.readonly)
        if not taken:
            raise unparsable(f"nothing is looked up in address table {base58(table.key)}")
        total += taken
    if total > SOLANA_ACCOUNTS_MAX:
        raise unparsable(f"{total} addresses, at most {SOLANA_ACCOUNTS_MAX} are possible")
    for number, call in enumerate(wire.message.instructions):
        if call.program >= len(keys):
            raise unparsable(f"instruction {number}: its program is not among the account keys of the transaction")
        if call.program == 0:
            raise unparsable(f"instruction {number}: its program is the account that pays the fee")
        if any(index >= total for index in call.accounts):
            raise unparsable(f"instruction {number}: an account index beyond the {total} addresses")


def _check_v1(raw: RawMessage, config: TransactionConfig) -> None:
    """Raise InvalidRequest unless the message keeps the limits that SIMD-0385 adds for version 1."""
    for what, count, limit in (
        ("required signers", raw.header.signers, SOLANA_V1_SIGNERS_MAX),
        ("account keys", len(raw.keys), SOLANA_V1_KEYS_MAX),
        ("instructions", len(raw.instructions), SOLANA_V1_INSTRUCTIONS_MAX),
    ):
        if count > limit:
            raise unparsable(f"{count} {what}; a transaction of version 1 has at most {limit}")
    heap = config.heap_size
    if heap is not None and (heap not in _HEAP_BYTES or heap % _HEAP_BYTES_STEP):
        raise unparsable(
            f"its config asks for a heap of {heap} bytes; it must be a multiple of {_HEAP_BYTES_STEP} from "
            f"{_HEAP_BYTES[0]} to {_HEAP_BYTES[-1]}"
        )


def _accounts(raw: RawMessage, keys: list[str], tables: tuple[LookedUpAccounts, ...]) -> list[Account]:
    """The accounts in the order of their indexes: the keys, the writable accounts of tables, the read-only accounts
    of tables."""
    header = raw.header
    signed_writable = header.signers - header.readonly_signers
    unsigned_writable = len(keys) - header.readonly_others
    # The network makes accounts that are called as programs read-only, unless a loader is among the keys.
    called = {call.program for call in raw.instructions} if _UPGRADEABLE_LOADER not in keys else set()
    accounts = []
    for index, key in enumerate(keys):
        signer = index < header.signers
        writable = index < (signed_writable if signer else unsigned_writable) and index not in called
        accounts.append(Account(key, signer, writable))
    for writable in (True, False):
        for table in tables:
            indexes = table.writable if writable else table.readonly
            accounts += [Account(LOOKED_UP, False, writable, (table.key, index)) for index in indexes]
    return accounts
