"""Bitcoin's serialization, read strictly: no bytes after a transaction, every length in its shortest form.

Here: bytes to values, transaction ids. Not here: PSBTs (`psbt`), what scripts mean (`scripts`).
"""

from __future__ import annotations

import hashlib

import msgspec

from keystead.chains.bounds import SATOSHIS_MAX
from keystead.chains.transaction import unparsable

_LONGER_SIZES = {0xFD: (2, 0xFD), 0xFE: (4, 0x1_0000), 0xFF: (8, 0x1_0000_0000)}


class Input(msgspec.Struct, frozen=True):
    """`txid` is in the order of the wire; explorers show it in the reverse order."""

    txid: bytes
    vout: int
    sequence: int

    @property
    def outpoint(self) -> bytes:
        return self.txid + self.vout.to_bytes(4, "little")


class TxOutput(msgspec.Struct, frozen=True):
    satoshis: int
    script: bytes

    def serialize(self) -> bytes:
        return self.satoshis.to_bytes(8, "little") + with_length(self.script)


class Transaction(msgspec.Struct, frozen=True):
    """A transaction without its input scripts and witnesses. `version`: its four bytes as an unsigned integer."""

    version: int
    inputs: tuple[Input, ...]
    outputs: tuple[TxOutput, ...]
    locktime: int


class Reader:
    """Reads from the front of `data`. Its methods raise InvalidRequest, whose message begins with `what`."""

    def __init__(self, data: bytes, what: str) -> None:
        self.data = data
        self.at = 0
        self._what = what

    def refusal(self, why: str) -> Exception:
        return unparsable(f"{self._what}: {why}")

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise self.refusal(
                f"it ends at byte {len(self.data)}, but {size} more bytes are expected at byte {self.at}"
            )
        taken = self.data[self.at : self.at + size]
        self.at += size
        return taken

    def unsigned(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def compact_size(self) -> int:
        first = self.unsigned(1)
        if first not in _LONGER_SIZES:
            return first
        size, least = _LONGER_SIZES[first]
        value = self.unsigned(size)
        if value < least:
            raise self.refusal(f"a length at byte {self.at - size - 1} is not in its shortest form")
        return value

    def sized(self) -> bytes:
        return self.take(self.compact_size())

    def output(self) -> TxOutput:
        satoshis = self.unsigned(8)
        if satoshis > SATOSHIS_MAX:
            raise self.refusal(f"an output has {satoshis} satoshis; at most {SATOSHIS_MAX} exist")
        return TxOutput(satoshis, self.sized())

    def finish(self) -> None:
        if self.at != len(self.data):
            raise self.refusal(f"{len(self.data) - self.at} bytes after its end")


def compact_size(value: int) -> bytes:
    """A length in its shortest form."""
    if value < 0xFD:
        return bytes([value])
    marker, size = next((marker, size) for marker, (size, _) in _LONGER_SIZES.items() if value < 1 << 8 * size)
    return bytes([marker]) + value.to_bytes(size, "little")


def with_length(data: bytes) -> bytes:
    """The data after its length, as `Reader.sized` reads it."""
    return compact_size(len(data)) + data


def double_sha256(data: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def read_unsigned(data: bytes) -> Transaction:
    """The transaction of a PSBT: in the serialization without witnesses, all input scripts empty (BIP-174)."""
    reader = Reader(data, "the unsigned transaction")
    version = reader.unsigned(4)
    count = reader.compact_size()
    if not count:
        raise reader.refusal("it has no inputs; or it is serialized with witnesses: leave them out")
    inputs = []
    for number in range(count):
        inputs.append(_input(reader))
        if inputs[-1][1]:
            raise reader.refusal(f"the script of input {number} is not empty")
    outputs = [reader.output() for _ in range(reader.compact_size())]
    locktime = reader.unsigned(4)
    reader.finish()
    if not outputs:
        raise reader.refusal("it has no outputs")
    if len({spending.outpoint for spending, _ in inputs}) != len(inputs):
        raise reader.refusal("two inputs spend the same output")
    return Transaction(version, tuple(spending for spending, _ in inputs), tuple(outputs), locktime)


def read_previous(data: bytes, what: str) -> tuple[bytes, tuple[TxOutput, ...]]:
    """The id, in the order of the wire, and the outputs of a transaction with or without witnesses (BIP-144).
    `what`: its name in errors."""
    reader = Reader(data, what)
    reader.take(4)
    witnesses = data[4:6] == b"\0\x01"
    if witnesses:
        reader.take(2)
    body = reader.at
    inputs = reader.compact_size()
    for _ in range(inputs):
        _input(reader)
    outputs = tuple(reader.output() for _ in range(reader.compact_size()))
    body_end = reader.at
    if not inputs or not outputs:
        raise reader.refusal("it has no inputs or no outputs")
    if witnesses:
        stacks = [[reader.sized() for _ in range(reader.compact_size())] for _ in range(inputs)]
        if not any(stacks):
            raise reader.refusal("it announces witnesses and has none")
    locktime = reader.take(4)
    reader.finish()
    return double_sha256(data[:4] + data[body:body_end] + locktime), outputs


def _input(reader: Reader) -> tuple[Input, bytes]:
    """An input and its script."""
    txid, vout = reader.take(32), reader.unsigned(4)
    script = reader.sized()
    return Input(txid, vout, reader.unsigned(4)), script
