"""Solidity's ABI encoding: from the types of an interface to strict decoding of arguments, at a bounded cost.

Here: types as values, and decoding bytes by them. Each byte may be read a fixed number of times on average, so that
pointers to the same bytes cannot make a large value of small input. Not here: functions and selectors
(`interfaces`).

Source: the contract ABI specification of Solidity. Decoded strictly where contracts are strict: integers are in
their range, words that hold fewer bytes are padded with zeros, pointers point behind the head that they are in. The
padding of a text or a byte string is not read, as contracts do not read it: it may be anything, and missing at the
end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias, assert_never

import msgspec

from keystead.chains.bounds import ABI_NESTING_MAX, ABI_STATIC_BYTES_MAX

WORD: Final = 32


READS_PER_BYTE: Final = 4
"""How often each byte of the arguments may be read on average. Few encoders share equal values by pointers."""

_INTEGER = re.compile(r"(u?)int([1-9][0-9]{0,2})?\Z")
_FIXED = re.compile(r"(u?)fixed(?:([1-9][0-9]{0,2})x([1-9][0-9]?))?\Z")
_BYTES = re.compile(r"bytes([1-9][0-9]?)\Z")
_DIMENSION = re.compile(r"\[([1-9][0-9]{0,6})?\]")
_ITEM = re.compile(r"[a-z0-9]{1,20}")


class NotAbiType(ValueError):
    """The ABI does not have this type, or calldata cannot hold its values. The message says why."""


class NotDecodable(ValueError):
    """The arguments are not an encoding of the types, or would be read too often."""


# `static_bytes` of a type: how many bytes a value has in the head of its tuple; None for a type whose values are
# behind a pointer.


class Integer(msgspec.Struct, frozen=True):
    static_bytes: ClassVar[int] = WORD

    bits: int
    signed: bool


class Fixed(msgspec.Struct, frozen=True):
    """A fixed-point number: an integer of `bits` bits, divided by ten to the power of `places`."""

    static_bytes: ClassVar[int] = WORD

    bits: int
    signed: bool
    places: int


class Bool(msgspec.Struct, frozen=True):
    static_bytes: ClassVar[int] = WORD


class Address(msgspec.Struct, frozen=True):
    static_bytes: ClassVar[int] = WORD


class FixedBytes(msgspec.Struct, frozen=True):
    static_bytes: ClassVar[int] = WORD

    size: int


class Bytes(msgspec.Struct, frozen=True):
    static_bytes: ClassVar[None] = None


class String(msgspec.Struct, frozen=True):
    static_bytes: ClassVar[None] = None


class Array(msgspec.Struct, frozen=True):
    """`size` is None for an array whose length is in the calldata."""

    item: AbiType
    size: int | None
    static_bytes: int | None


class Tuple(msgspec.Struct, frozen=True):
    members: tuple[AbiType, ...]
    static_bytes: int | None


AbiType: TypeAlias = "Integer | Fixed | Bool | Address | FixedBytes | Bytes | String | Array | Tuple"


def _head_bytes(kind: AbiType) -> int:
    """How many bytes a value has in the head of its tuple: its own, or those of its pointer."""
    return WORD if kind.static_bytes is None else kind.static_bytes


_NAMED: Final[Mapping[str, AbiType]] = {
    "bool": Bool(),
    "address": Address(),
    "bytes": Bytes(),
    "string": String(),
    "function": FixedBytes(24),  # an address and a selector
}


def elementary_type(word: str) -> AbiType | None:
    """The elementary type of this name; None for another word."""
    if word in _NAMED:
        return _NAMED[word]
    if number := _INTEGER.match(word):
        bits = int(number[2] or 256)
        return Integer(bits, not number[1]) if bits % 8 == 0 and bits <= 256 else None
    if number := _FIXED.match(word):
        bits, places = int(number[2] or 128), int(number[3] or 18)
        return Fixed(bits, not number[1], places) if bits % 8 == 0 and bits <= 256 and places <= 80 else None
    if octets := _BYTES.match(word):
        size = int(octets[1])
        return FixedBytes(size) if size <= WORD else None
    return None


def split_dimensions(written: str) -> tuple[str, list[int | None]]:
    """The name of the item type, and the array dimensions, the innermost first; None is a dynamic length.

    For `tuple[2][]`: "tuple" and [2, None]. Raises NotAbiType.
    """
    item = _ITEM.match(written)
    at = item.end() if item else 0
    dimensions: list[int | None] = []
    while item and (dimension := _DIMENSION.match(written, at)):
        dimensions.append(int(dimension[1]) if dimension[1] else None)
        at = dimension.end()
        if len(dimensions) > ABI_NESTING_MAX:
            raise NotAbiType(f"unknown type {written[:100]!r}: arrays are nested more than {ABI_NESTING_MAX} deep")
    if item is None or at != len(written):
        raise NotAbiType(f"unknown type {written[:100]!r}")
    return item[0], dimensions


def array_of(item: AbiType, size: int | None) -> Array:
    """An array type; `size` None: of dynamic length. Raises NotAbiType for a size that no calldata can hold."""
    if size is None:
        return Array(item, None, None)
    _require_possible(size * _head_bytes(item))
    return Array(item, size, None if item.static_bytes is None else size * item.static_bytes)


def tuple_of(members: Sequence[AbiType]) -> Tuple:
    """A tuple type. Raises NotAbiType for a size that no calldata can hold."""
    head_bytes, is_static = 0, True
    for member in members:
        size = member.static_bytes
        if size is None:
            size, is_static = WORD, False
        head_bytes += size
    _require_possible(head_bytes)
    return Tuple(tuple(members), head_bytes if is_static else None)


def _require_possible(size: int) -> None:
    if size > ABI_STATIC_BYTES_MAX:
        raise NotAbiType(f"the values of a type have {size} bytes; at most {ABI_STATIC_BYTES_MAX} are allowed")


def decode(kind: Tuple, data: bytes) -> list[Any]:
    """The arguments of a function, encoded from the beginning of `data`. Bytes behind them are ignored.

    Integers are int, addresses and bytes `0x` and hex digits in lower case, fixed-point numbers their decimal text,
    arrays and tuples lists. Raises NotDecodable.
    """
    return _ArgumentDecoder(data).sequence(kind.members, 0)


class _ArgumentDecoder:
    """Reads values from `data`, each at its place, and counts the bytes that it reads."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._left = len(data) * READS_PER_BYTE

    def _take(self, at: int, size: int) -> bytes:
        if at + size > len(self._data):
            raise NotDecodable(
                f"the data ends at byte {len(self._data)}, but {size} bytes are expected at byte {at}"
            )
        self._left -= size
        if self._left < 0:
            raise NotDecodable("too many pointers to the same bytes")
        return self._data[at : at + size]

    def _number(self, at: int) -> int:
        return int.from_bytes(self._take(at, WORD))

    def read(self, kind: AbiType, at: int) -> Any:
        """The value that begins at this byte. The caller has followed a pointer to it."""
        match kind:
            case Integer():
                return self._integer(kind.bits, kind.signed, at)
            case Fixed():
                return _decimal(self._integer(kind.bits, kind.signed, at), kind.places)
            case Bool():
                return self._integer(1, signed=False, at=at) == 1
            case Address():
                return f"0x{self._integer(160, signed=False, at=at):040x}"
            case FixedBytes():
                return "0x" + _unpadded(self._take(at, WORD), kind.size).hex()
            case Bytes():
                return "0x" + self._sized(at).hex()
            case String():
                try:
                    return self._sized(at).decode()
                except UnicodeDecodeError:
                    raise NotDecodable("a string is not UTF-8") from None
            case Array():
                return self._array(kind, at)
            case Tuple():
                return self.sequence(kind.members, at)
            case _:
                assert_never(kind)

    def _array(self, kind: Array, at: int) -> list[Any]:
        size = kind.size
        if size is None:
            size, at = self._number(at), at + WORD
        if size * _head_bytes(kind.item) > len(self._data) - at:
            raise NotDecodable(f"an array of {size} items is longer than the rest of the data")
        return self.sequence([kind.item] * size, at)

    def sequence(self, kinds: Sequence[AbiType], begin: int) -> list[Any]:
        """The values whose head begins at the byte `begin`. Pointers in the head count from that byte."""
        head_end = begin + sum(map(_head_bytes, kinds))
        values, at = [], begin
        for kind in kinds:
            size = kind.static_bytes
            if size is None:
                place = begin + self._number(at)
                if place < head_end:
                    raise NotDecodable("a pointer points into its own head")
                values.append(self.read(kind, place))
                at += WORD
            else:
                values.append(self.read(kind, at))
                at += size
        return values

    def _integer(self, bits: int, signed: bool, at: int) -> int:
        number = int.from_bytes(self._take(at, WORD), signed=signed)
        low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
        if not low <= number < high:
            raise NotDecodable(f"a number does not fit its type of {bits} bits")
        return number

    def _sized(self, at: int) -> bytes:
        return self._take(at + WORD, self._number(at))


def _unpadded(data: bytes, size: int) -> bytes:
    if any(data[size:]):
        raise NotDecodable("padding is not zero")
    return data[:size]


def _decimal(number: int, places: int) -> str:
    """The shortest decimal text: -1.5, 20."""
    whole, fraction = divmod(abs(number), 10**places)
    digits = f"{fraction:0{places}d}".rstrip("0")
    return f"{'-' if number < 0 else ''}{whole}{'.' if digits else ''}{digits}"
