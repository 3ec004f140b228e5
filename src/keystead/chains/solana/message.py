"""The wire form of Solana transactions, legacy and version 0, read so that each has one encoding.

Here: bytes to values, the rules of a well-formed message, which account an index means. Not here: the meaning of an
instruction (`token_program`, `interfaces`); signing (`transaction`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from keystead.chains.addresses.text import base58
from keystead.chains.solana.facts import AccountKey
from keystead.chains.transaction import unparsable
from keystead.primitives.unreadable import Unreadable

TRANSACTION_BYTES_MAX: Final = 1232
"""The size of a packet of the network: IPv6's minimum of 1,280 bytes without the headers."""

LOOKED_UP: Final = Unreadable(
    "an address lookup table, which is on the chain, has the key of this account", literal="ADDRESS_TABLE_LOOKUP"
)
"""Stands for the key of an account that an address lookup table names. The documentation writes it as this
literal."""

SIGNATURE_BYTES: Final = 64
KEY_BYTES: Final = 32
_ACCOUNTS_MAX = 256
_VERSION_FLAG = 0x80
_UPGRADEABLE_LOADER = "BPFLoaderUpgradeab1e11111111111111111111111"


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

    `accounts`: in the order that indexes count, first those of the keys.
    """

    signed: bytes
    signers: int
    keys: tuple[bytes, ...]
    accounts: tuple[Account, ...]
    recent_blockhash: str
    instructions: tuple[Instruction, ...]
    tables: tuple[LookedUpAccounts, ...]


class _RawInstruction(msgspec.Struct, frozen=True):
    """An instruction as the wire has it: indexes in place of accounts."""

    program: int
    accounts: bytes
    data: bytes


class _MessageHeader(msgspec.Struct, frozen=True):
    signers: int
    readonly_signers: int
    readonly_others: int


class _MessageReader:
    """Reads from the front of `data`. Raises InvalidRequest."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self.at:
            raise unparsable(f"not a Solana transaction: it ends at byte {len(self._data)}, within a value")
        taken = self._data[self.at : self.at + size]
        self.at += size
        return taken

    def byte(self) -> int:
        return self.take(1)[0]

    def peek(self) -> int:
        return self._data[self.at] if self.at < len(self._data) else 0

    def count(self) -> int:
        """A `compact-u16`: seven bits in each byte, the lowest first, in the fewest bytes."""
        value = 0
        for position in range(3):
            byte = self.byte()
            value |= (byte & 0x7F) << 7 * position
            if byte < 0x80:
                if (position and not byte) or value > 0xFFFF:
                    break
                return value
        raise unparsable(f"not a Solana transaction: the length before byte {self.at} is not in its shortest form")

    def sized(self) -> bytes:
        return self.take(self.count())

    def finish(self) -> None:
        if self.at != len(self._data):
            raise unparsable(f"not a Solana transaction: {len(self._data) - self.at} trailing bytes")


def read_message(unsigned: bytes) -> SolanaMessage:
    """The message of a transaction: a `compact-u16` array of signatures, empty or present, then the message.

    Raises InvalidRequest unless the bytes are that, in one spelling, and keep the rules of the network.
    """
    if len(unsigned) > TRANSACTION_BYTES_MAX:
        raise unparsable(f"it has {len(unsigned)} bytes; a Solana transaction has at most {TRANSACTION_BYTES_MAX}")
    reader = _MessageReader(unsigned)
    signature_count = reader.count()
    reader.take(SIGNATURE_BYTES * signature_count)
    begin = reader.at
    versioned = reader.peek() >= _VERSION_FLAG
    if versioned and reader.byte() != _VERSION_FLAG:
        raise unparsable("only legacy messages and version 0 are supported")
    header = _MessageHeader(reader.byte(), reader.byte(), reader.byte())
    keys = tuple(reader.take(KEY_BYTES) for _ in range(reader.count()))
    blockhash = reader.take(KEY_BYTES)
    calls = tuple(_RawInstruction(reader.byte(), reader.sized(), reader.sized()) for _ in range(reader.count()))
    tables = tuple(_table(reader) for _ in range(reader.count())) if versioned else ()
    reader.finish()
    _check(header, keys, calls, tables, signature_count)
    written_keys = [base58(key) for key in keys]
    accounts = _accounts(header, written_keys, calls, tables)
    return SolanaMessage(
        signed=unsigned[begin:],
        signers=header.signers,
        keys=keys,
        accounts=tuple(accounts),
        recent_blockhash=base58(blockhash),
        instructions=tuple(
            Instruction(written_keys[call.program], tuple(accounts[index] for index in call.accounts), call.data)
            for call in calls
        ),
        tables=tables,
    )


def _table(reader: _MessageReader) -> LookedUpAccounts:
    return LookedUpAccounts(base58(reader.take(KEY_BYTES)), reader.sized(), reader.sized())


def _check(
    header: _MessageHeader,
    keys: tuple[bytes, ...],
    calls: tuple[_RawInstruction, ...],
    tables: tuple[LookedUpAccounts, ...],
    signature_count: int,
) -> None:
    """Raise InvalidRequest unless the message keeps the rules of the network's `sanitize`, and no key occurs
    twice."""
    if signature_count != header.signers:
        raise unparsable(f"{signature_count} signature slots for {header.signers} required signers")
    if header.readonly_signers >= header.signers:
        raise unparsable("no writable signer to pay the fee")
    if header.signers + header.readonly_others > len(keys):
        raise unparsable(f"its header counts more accounts than its {len(keys)} keys")
    if len(set(keys)) != len(keys):
        raise unparsable("an account key occurs twice")
    total = len(keys)
    for table in tables:
        taken = len(table.writable) + len(table.readonly)
        if not taken:
            raise unparsable(f"nothing is looked up in address table {table.key}")
        total += taken
    if total > _ACCOUNTS_MAX:
        raise unparsable(f"{total} addresses, at most {_ACCOUNTS_MAX} are possible")
    for number, call in enumerate(calls):
        if call.program >= len(keys):
            raise unparsable(f"instruction {number}: its program is not among the account keys of the transaction")
        if call.program == 0:
            raise unparsable(f"instruction {number}: its program is the account that pays the fee")
        if any(index >= total for index in call.accounts):
            raise unparsable(f"instruction {number}: an account index beyond the {total} addresses")


def _accounts(
    header: _MessageHeader,
    keys: list[str],
    calls: tuple[_RawInstruction, ...],
    tables: tuple[LookedUpAccounts, ...],
) -> list[Account]:
    """The accounts in the order of their indexes: the keys, the writable accounts of tables, the read-only accounts
    of tables."""
    signed_writable = header.signers - header.readonly_signers
    unsigned_writable = len(keys) - header.readonly_others
    # The network makes accounts that are called as programs read-only, unless a loader is among the keys.
    called = {call.program for call in calls} if _UPGRADEABLE_LOADER not in keys else set()
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
