"""Tron's protobuf messages that are signed here, and their strict decoding.

Here: the number and type of each field (the network's `Tron.proto` and the contracts beside it), protobuf's
canonical encoding. A field that is not in this table cannot be shown to policies, so it is refused.
Not here: what the fields mean (`transaction`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from keystead.chains.transaction import unparsable

# Name, number, type: a scalar of protobuf, or a message of this table; in brackets if it is repeated.
# Enumerations are written as the integers that they are on the wire.
MESSAGES: Final[Mapping[str, tuple[tuple[str, int, str], ...]]] = {
    "raw": (
        ("ref_block_bytes", 1, "bytes"),
        ("ref_block_hash", 4, "bytes"),
        ("expiration", 8, "int64"),
        ("data", 10, "bytes"),
        ("contract", 11, "[Contract]"),
        ("timestamp", 14, "int64"),
        ("fee_limit", 18, "int64"),
    ),
    "Contract": (("type", 1, "int32"), ("parameter", 2, "Parameter"), ("permission_id", 5, "int32")),
    "Parameter": (("type_url", 1, "string"), ("value", 2, "bytes")),
    "TransferContract": (("owner_address", 1, "bytes"), ("to_address", 2, "bytes"), ("amount", 3, "int64")),
    "TriggerSmartContract": (
        ("owner_address", 1, "bytes"),
        ("contract_address", 2, "bytes"),
        ("call_value", 3, "int64"),
        ("data", 4, "bytes"),
        ("call_token_value", 5, "int64"),
        ("token_id", 6, "int64"),
    ),
    "FreezeBalanceV2Contract": (
        ("owner_address", 1, "bytes"),
        ("frozen_balance", 2, "int64"),
        ("resource", 3, "int32"),
    ),
    "UnfreezeBalanceV2Contract": (
        ("owner_address", 1, "bytes"),
        ("unfreeze_balance", 2, "int64"),
        ("resource", 3, "int32"),
    ),
    "DelegateResourceContract": (
        ("owner_address", 1, "bytes"),
        ("resource", 2, "int32"),
        ("balance", 3, "int64"),
        ("receiver_address", 4, "bytes"),
        ("lock", 5, "bool"),
        ("lock_period", 6, "int64"),
    ),
    "UnDelegateResourceContract": (
        ("owner_address", 1, "bytes"),
        ("resource", 2, "int32"),
        ("balance", 3, "int64"),
        ("receiver_address", 4, "bytes"),
    ),
    "AccountPermissionUpdateContract": (
        ("owner_address", 1, "bytes"),
        ("owner", 2, "Permission"),
        ("witness", 3, "Permission"),
        ("actives", 4, "[Permission]"),
    ),
    "Permission": (
        ("type", 1, "int32"),
        ("id", 2, "int32"),
        ("permission_name", 3, "string"),
        ("threshold", 4, "int64"),
        ("parent_id", 5, "int32"),
        ("operations", 6, "bytes"),
        ("keys", 7, "[Key]"),
    ),
    "Key": (("address", 1, "bytes"), ("weight", 2, "int64")),
}

MessageFields = Mapping[str, Any]
"""Fields by name. An absent scalar is 0, False or empty, an absent message None, absent repeated fields are []."""


class _MessageField(msgspec.Struct, frozen=True):
    name: str
    kind: str
    repeated: bool

    @property
    def absent(self) -> Any:
        if self.repeated:
            return []
        return {"bytes": b"", "string": "", "bool": False, "int32": 0, "int64": 0}.get(self.kind)


_FIELDS: Final[Mapping[str, Mapping[int, _MessageField]]] = {
    message: {number: _MessageField(name, kind.strip("[]"), kind.startswith("[")) for name, number, kind in fields}
    for message, fields in MESSAGES.items()
}

_VARINT, _SIZED = 0, 2
_NOT_CANONICAL: Final = "not in canonical encoding"


def read(name: str, data: bytes) -> MessageFields:
    """The message of the type `name`. Raises InvalidRequest for an unknown or repeated field, and for an encoding
    that is not canonical: fields in ascending order, shortest numbers, defaults left out."""
    fields = _FIELDS[name]
    values: dict[str, Any] = {field.name: field.absent for field in fields.values()}
    reader, last = _ProtobufReader(data, name), 0
    while reader.at < len(data):
        number, wire_type = divmod(reader.varint(), 8)
        field = fields.get(number)
        if field is None:
            signed = ", ".join(map(str, fields))
            raise reader.refusal(f"field {number} is not among those that are signed: {signed}")
        if number < last or (number == last and not field.repeated):
            raise reader.refusal(f"{_NOT_CANONICAL}: field {number} is repeated or out of order")
        if wire_type != (_VARINT if field.kind in ("int32", "int64", "bool") else _SIZED):
            raise reader.refusal(f"field {number} has wire type {wire_type}")
        last, value = number, _value(field, reader)
        if field.repeated:
            values[field.name].append(value)
        elif value == field.absent:
            raise reader.refusal(f"{_NOT_CANONICAL}: field {number} has its default value and must be left out")
        else:
            values[field.name] = value
    return values


def _value(field: _MessageField, reader: _ProtobufReader) -> Any:
    match field.kind:
        case "int64" | "int32":
            return reader.integer(32 if field.kind == "int32" else 64)
        case "bool":
            number = reader.varint()
            if number > 1:
                raise reader.refusal(f"{number} is not a boolean, which is 0 or 1")
            return number == 1
        case "bytes":
            return reader.sized()
        case "string":
            try:
                return reader.sized().decode()
            except UnicodeDecodeError:
                raise reader.refusal("a string is not UTF-8") from None
        case message:
            return read(message, reader.sized())


class _ProtobufReader:
    """Reads the wire form of protobuf from the front of `data`. Raises InvalidRequest."""

    def __init__(self, data: bytes, message: str) -> None:
        self._data = data
        self._message = message
        self.at = 0

    def refusal(self, why: str) -> Exception:
        return unparsable(f"the Tron message {self._message}: {why}")

    def varint(self) -> int:
        """At most 64 bits, seven in each byte, the lowest first, in the fewest bytes."""
        value = position = 0
        while True:
            if self.at == len(self._data):
                raise self.refusal("it ends within a number")
            byte = self._data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << 7 * position
            if value >> 64 or position == 10:
                raise self.refusal(f"the number before byte {self.at} is beyond 64 bits")
            if byte < 0x80:
                break
            position += 1
        if position and not byte:
            raise self.refusal(f"{_NOT_CANONICAL}: the number before byte {self.at} is not in its shortest form")
        return value

    def integer(self, bits: int) -> int:
        """A signed integer: a negative one is written as its 64-bit two's complement."""
        value = self.varint()
        value -= value >> 63 << 64
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise self.refusal(f"{value} is beyond {bits} bits")
        return value

    def sized(self) -> bytes:
        size = self.varint()
        if size > len(self._data) - self.at:
            raise self.refusal(f"it ends at byte {len(self._data)}, within a value")
        self.at += size
        return self._data[self.at - size : self.at]


def signed_transaction(raw_data: bytes, signature: bytes) -> bytes:
    """The protobuf `Transaction`: `raw_data` is its field 1, the signature its field 2."""
    return b"".join(
        bytes([number << 3 | _SIZED]) + _varint(len(data)) + data
        for number, data in ((1, raw_data), (2, signature))
    )


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])
