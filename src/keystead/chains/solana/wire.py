"""The wire form of Solana transactions, byte by byte: legacy, version 0 and version 1.

Here: bytes to values, where the signature slots are, one encoding of each transaction. Not here: the rules of a
well-formed message, which account an index means (`message`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from keystead.chains.bounds import SOLANA_PACKET_BYTES_MAX, SOLANA_V1_BYTES_MAX
from keystead.chains.transaction import unparsable

SIGNATURE_BYTES: Final = 64
KEY_BYTES: Final = 32
_VERSION_FLAG: Final = 0x80
_V1_PREFIX: Final = _VERSION_FLAG | 1

_CONFIG_FIELDS: Final = (
    ("priority_fee_lamports", 0b00011, 8),
    ("compute_unit_limit", 0b00100, 4),
    ("loaded_accounts_data_size_limit", 0b01000, 4),
    ("heap_size", 0b10000, 4),
)
"""The values that the mask of version 1 announces, in the order of the wire: name, bits of the mask, bytes."""


class TransactionVersion(StrEnum):
    """The versions of transactions, as policies name them."""

    LEGACY = "LEGACY"
    V0 = "V0"
    V1 = "V1"


class MessageHeader(msgspec.Struct, frozen=True):
    signers: int
    readonly_signers: int
    readonly_others: int


class TransactionConfig(msgspec.Struct, frozen=True):
    """What a transaction of version 1 asks of the network. The priority fee is for the whole transaction; if it is
    absent, it is 0. `loaded_accounts_data_size_limit` and `heap_size` are in bytes."""

    priority_fee_lamports: int = 0
    compute_unit_limit: int | None = None
    loaded_accounts_data_size_limit: int | None = None
    heap_size: int | None = None


class RawInstruction(msgspec.Struct, frozen=True):
    """An instruction as the wire has it: indexes in place of accounts."""

    program: int
    accounts: bytes
    data: bytes


class RawTable(msgspec.Struct, frozen=True):
    """An address lookup table, and the indexes of the accounts that are taken from it."""

    key: bytes
    writable: bytes
    readonly: bytes


class RawMessage(msgspec.Struct, frozen=True):
    """A message. `config`: None before version 1."""

    version: TransactionVersion
    header: MessageHeader
    keys: tuple[bytes, ...]
    blockhash: bytes
    instructions: tuple[RawInstruction, ...]
    tables: tuple[RawTable, ...] = ()
    config: TransactionConfig | None = None


class WireTransaction(msgspec.Struct, frozen=True):
    """`signed`: the bytes that each signer signs. `slots_begin`: where the first signature slot begins."""

    message: RawMessage
    signed: bytes
    slots_begin: int
    slots: int


def read_transaction(unsigned: bytes) -> WireTransaction:
    """The whole transaction. Raises InvalidRequest unless the bytes are one, in one spelling, to the last byte."""
    is_v1 = unsigned[:1] == bytes([_V1_PREFIX])
    limit = SOLANA_V1_BYTES_MAX if is_v1 else SOLANA_PACKET_BYTES_MAX
    if len(unsigned) > limit:
        what = "a Solana transaction of version 1" if is_v1 else "a legacy Solana transaction, or one of version 0,"
        raise unparsable(f"it has {len(unsigned)} bytes; {what} has at most {limit}")
    if is_v1:
        return _message_first(unsigned)
    try:
        return _signatures_first(unsigned)
    except _NotTransaction as refused:
        if _is_message(unsigned):
            raise _without_slots() from None
        raise unparsable(f"not a Solana transaction: {refused}") from None


def _without_slots() -> Exception:
    return unparsable(
        "it is a message without signature slots: send the whole transaction, in which each required signer has a "
        f"slot of {SIGNATURE_BYTES} bytes, all zero until it is signed"
    )


def _signatures_first(unsigned: bytes) -> WireTransaction:
    """A legacy transaction or one of version 0: a `compact-u16` array of signatures, then the message."""
    reader = _WireReader(unsigned)
    slots = reader.count()
    slots_begin = reader.at
    reader.take(SIGNATURE_BYTES * slots)
    begin = reader.at
    message = _compact_message(reader)
    reader.finish()
    if not slots and message.header.signers:
        raise _without_slots()
    return WireTransaction(message, unsigned[begin:], slots_begin, slots)


def _is_message(data: bytes) -> bool:
    """Whether the bytes are a message of a legacy transaction, or of one of version 0, from the first to the
    last."""
    reader = _WireReader(data)
    try:
        _compact_message(reader)
        reader.finish()
    except _NotTransaction:
        return False
    return True


def _message_first(unsigned: bytes) -> WireTransaction:
    """A transaction of version 1: the message, then a signature of each required signer, without their number."""
    reader = _WireReader(unsigned)
    try:
        message = _v1_message(reader)
    except _NotTransaction as refused:
        raise unparsable(f"not a Solana transaction of version 1: {refused}") from None
    slots, rest = divmod(len(unsigned) - reader.at, SIGNATURE_BYTES)
    if not slots and not rest and message.header.signers:
        raise _without_slots()
    if rest:
        raise unparsable(
            f"not a Solana transaction of version 1: {len(unsigned) - reader.at} bytes behind its message, which "
            f"are not signature slots of {SIGNATURE_BYTES} bytes"
        )
    return WireTransaction(message, unsigned[: reader.at], reader.at, slots)


def _compact_message(reader: _WireReader) -> RawMessage:
    is_versioned = reader.peek() >= _VERSION_FLAG
    if is_versioned and (prefix := reader.byte()) != _VERSION_FLAG:
        if prefix == _V1_PREFIX:
            raise _NotTransaction("the signatures of version 1 are behind its message, not in front of it")
        raise _NotTransaction(
            f"version {prefix - _VERSION_FLAG}; only legacy, version 0 and version 1 are supported"
        )
    header = reader.header()
    keys = tuple(reader.take(KEY_BYTES) for _ in range(reader.count()))
    blockhash = reader.take(KEY_BYTES)
    instructions = tuple(
        RawInstruction(reader.byte(), reader.sized(), reader.sized()) for _ in range(reader.count())
    )
    tables: tuple[RawTable, ...] = ()
    if is_versioned:
        tables = tuple(
            RawTable(reader.take(KEY_BYTES), reader.sized(), reader.sized()) for _ in range(reader.count())
        )
    version = TransactionVersion.V0 if is_versioned else TransactionVersion.LEGACY
    return RawMessage(version, header, keys, blockhash, instructions, tables)


def _v1_message(reader: _WireReader) -> RawMessage:
    reader.byte()  # the prefix
    header = reader.header()
    mask = reader.unsigned(4)
    blockhash = reader.take(KEY_BYTES)
    instruction_count, key_count = reader.byte(), reader.byte()
    keys = tuple(reader.take(KEY_BYTES) for _ in range(key_count))
    config = _config(reader, mask)
    sizes = [(reader.byte(), reader.byte(), reader.unsigned(2)) for _ in range(instruction_count)]
    instructions = tuple(
        RawInstruction(program, reader.take(accounts), reader.take(data)) for program, accounts, data in sizes
    )
    return RawMessage(TransactionVersion.V1, header, keys, blockhash, instructions, config=config)


def _config(reader: _WireReader, mask: int) -> TransactionConfig:
    """The values that the mask announces. The network refuses bits that it does not know, and half of the priority
    fee."""
    values = {}
    for name, bits, size in _CONFIG_FIELDS:
        if mask & bits == bits:
            values[name] = reader.unsigned(size)
            mask &= ~bits
    if mask:
        raise _NotTransaction(f"bits {mask:#b} of its config mask mean nothing")
    return TransactionConfig(**values)


class _NotTransaction(ValueError):
    """The bytes are not one transaction. The message says why."""


class _WireReader:
    """Reads from the front of `data`. Raises _NotTransaction."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self.at:
            raise _NotTransaction(f"it ends at byte {len(self._data)}, within a value")
        taken = self._data[self.at : self.at + size]
        self.at += size
        return taken

    def byte(self) -> int:
        return self.take(1)[0]

    def unsigned(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def peek(self) -> int:
        return self._data[self.at] if self.at < len(self._data) else 0

    def header(self) -> MessageHeader:
        return MessageHeader(self.byte(), self.byte(), self.byte())

    def count(self) -> int:
        """A `compact-u16`: seven bits in each byte, the lowest first, in the fewest bytes."""
        value = position = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << 7 * position
            if value > 0xFFFF or position == 3:
                raise _NotTransaction(f"the length before byte {self.at} is above 65535")
            if byte < 0x80:
                break
            position += 1
        if position and not byte:
            raise _NotTransaction(f"the length before byte {self.at} is not in its shortest form")
        return value

    def sized(self) -> bytes:
        return self.take(self.count())

    def finish(self) -> None:
        if self.at != len(self._data):
            raise _NotTransaction(f"{len(self._data) - self.at} trailing bytes")
