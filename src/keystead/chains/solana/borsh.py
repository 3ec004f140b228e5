"""Values of IDL types, read from the data of a Solana instruction, at a cost bounded by the data and a budget.

Here: Borsh, generic definitions, `coption`. Not here: which instruction it is (`interfaces`), what types
an IDL may name (`idl`).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final, assert_never

import msgspec

from keystead.chains.addresses.text import base58
from keystead.chains.solana.idl import IdlGeneric, IdlType
from keystead.primitives.unreadable import Unreadable

VALUES_MAX: Final = 8_192
"""Values read from one transaction. Its size does not bound values without bytes, such as empty structs."""
_NESTING_MAX: Final = 32

_INTEGER = re.compile(r"(?P<sign>[ui])(?P<bits>8|16|32|64|128|256)")
_FLOATS = {"f32": (4, "<f"), "f64": (8, "<d")}
_LENGTH = re.compile(r"[0-9]{1,9}")


class _Undecodable(Exception):
    """The data does not fit the IDL, or the IDL uses a feature that is not decoded here."""


class _OptionLayout(msgspec.Struct, frozen=True):
    """How a `coption` is written. `tag_bytes`: the size of its tag, which is 0 or 1. `padded`: an absent value is
    written as zeros."""

    tag_bytes: int
    padded: bool


_OPTION_LAYOUTS: Final = (
    _OptionLayout(1, padded=False),  # instructions of SPL Token: `pack_pubkey_option`; an enum in Borsh
    _OptionLayout(1, padded=True),  # how Anchor's coder for SPL Token and anchorpy write them
    _OptionLayout(4, padded=False),  # an enum in bincode
    _OptionLayout(4, padded=True),  # accounts of SPL Token: `pack_coption_key`; for Codama, any `coption`
)
"""The layouts that programs use. An IDL does not say which of them its program reads."""


ABSENT: Final = Unreadable("the option is absent")


class ValueMeter:
    """Counts the values, members of structures and generic arguments that are read from one transaction."""

    def __init__(self) -> None:
        self._left = VALUES_MAX

    def count(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise _Undecodable


def read_arguments(
    arguments: Sequence[tuple[str, Any]], data: bytes, at: int, types: Mapping[str, IdlType], meter: ValueMeter
) -> dict[str, Any] | None:
    """The values of the arguments by name, read from `data`, beginning at position `at`.

    `arguments`: names and IDL types. `types`: the types that the IDL defines, by name. None if there is not exactly
    one reading, or if the transaction has more values than `meter` has left.

    Programs may ignore bytes after their arguments. So if a `coption` is among the arguments, a reading that leaves
    bytes counts as well: if it differs, the program could act on other values than a policy has seen.
    """
    readings: list[dict[str, Any]] = []
    is_exact = False
    for layout in _OPTION_LAYOUTS:
        reader = _BorshReader(data, at, types, layout, meter)
        try:
            readings.append(reader.read_members(arguments, {}))
            is_exact = is_exact or reader.is_finished
        except _Undecodable:
            pass
        if not reader.met_coption:
            break
    return readings[0] if is_exact and all(reading == readings[0] for reading in readings) else None


class _Meaning(msgspec.Struct, frozen=True):
    """The value of a generic parameter: a type (`kind`), whose own parameters `scope` resolves; or the text of a
    constant."""

    kind: Any = None
    scope: Mapping[str, _Meaning] = {}
    constant: str | None = None


_Scope = Mapping[str, _Meaning]


def _bind_generics(parameters: Sequence[IdlGeneric | str], arguments: Any, scope: _Scope) -> _Scope:
    """The scope inside a definition: each of its parameters with its meaning. `arguments` and `scope` are those of
    the place that uses the definition."""
    if not isinstance(arguments, list) or len(arguments) != len(parameters):
        raise _Undecodable
    inside = {}
    for parameter, argument in zip(parameters, arguments, strict=True):
        if isinstance(parameter, str):
            raise _Undecodable
        meaning = _meaning(argument, scope)
        if (meaning.constant is not None) is not (parameter.kind == "const"):
            raise _Undecodable
        inside[parameter.name] = meaning
    return inside


def _meaning(argument: Any, scope: _Scope) -> _Meaning:
    """The meaning of a generic argument. A parameter that is passed on keeps its meaning. Anchor writes a parameter
    that is a constant as if it were a type."""
    match argument:
        case {"type": {"generic": str(name)}} | {"kind": "const", "value": str(name)} if name in scope:
            return scope[name]
        case {"kind": "const", "value": str(constant)}:
            return _Meaning(constant=constant)
        case {"kind": "type", "type": kind}:
            return _Meaning(kind, scope)
        case _:
            raise _Undecodable


def _length(written: Any, scope: _Scope) -> int:
    """The length of an array: a number, or a generic constant."""
    match written:
        case int():
            return written
        case {"generic": str(name)} if name in scope and _LENGTH.fullmatch(scope[name].constant or ""):
            return int(scope[name].constant or "")
        case _:
            raise _Undecodable


class _BorshReader:
    """Reads values of IDL types from Borsh. It refuses bytes that an encoder would not write."""

    def __init__(
        self,
        data: bytes,
        at: int,
        types: Mapping[str, IdlType],
        option_layout: _OptionLayout,
        meter: ValueMeter,
    ) -> None:
        self._data = data
        self._at = at
        self._types = types
        self._option_layout = option_layout
        self._meter = meter
        self.met_coption = False

    @property
    def is_finished(self) -> bool:
        return self._at == len(self._data)

    def read_members(self, members: Sequence[tuple[str, Any]], scope: _Scope, depth: int = 0) -> dict[str, Any]:
        values = {name: self.read(kind, scope, depth) for name, kind in members}
        if len(values) != len(members):
            raise _Undecodable  # two members have one name: a policy could mean either
        return values

    def read(self, kind: Any, scope: _Scope, depth: int = 0) -> Any:
        self._meter.count(1)
        if depth > _NESTING_MAX:
            raise _Undecodable
        match kind:
            case str():
                return self._scalar(kind)
            case {"vec": inner}:
                return [self.read(inner, scope, depth + 1) for _ in range(self._unsigned(4))]
            case {"array": [inner, length]}:
                return [self.read(inner, scope, depth + 1) for _ in range(_length(length, scope))]
            case {"option": inner}:
                return self.read(inner, scope, depth + 1) if self._flag() else ABSENT
            case {"coption": inner}:
                return self._coption(inner, scope, depth)
            case {"generic": str(name)} if name in scope and scope[name].constant is None:
                return self.read(scope[name].kind, scope[name].scope, depth + 1)
            case {"defined": str(name)}:
                return self._read_defined(name, [], scope, depth)
            case {"defined": {"name": str(name)}}:
                return self._read_defined(name, kind["defined"].get("generics", []), scope, depth)
            case _:
                raise _Undecodable

    def _coption(self, inner: Any, scope: _Scope, depth: int) -> Any:
        self.met_coption = True
        if self._flag(self._option_layout.tag_bytes):
            return self.read(inner, scope, depth + 1)
        if self._option_layout.padded:
            begin = self._at
            self.read(inner, scope, depth + 1)
            if any(self._data[begin : self._at]):
                raise _Undecodable
        return ABSENT

    def _read_defined(self, name: str, arguments: Any, scope: _Scope, depth: int) -> Any:
        kind = self._types.get(name)
        if kind is None or kind.serialization != "borsh":
            raise _Undecodable
        self._meter.count(len(kind.generics))
        inside = _bind_generics(kind.generics, arguments, scope)
        match kind.type.kind:
            case "struct":
                return self._members(kind.type.fields, inside, depth)
            case "enum":
                index = self._unsigned(1)
                if index >= len(kind.type.variants):
                    raise _Undecodable
                variant = kind.type.variants[index]
                return {variant.name: self._members(variant.fields, inside, depth) if variant.fields else {}}
            case "alias" | "type":
                return self.read(kind.type.target, inside, depth + 1)
            case _:
                assert_never(kind.type.kind)

    def _members(self, fields: Sequence[Any], scope: _Scope, depth: int) -> Any:
        """The members of a struct or variant: a map if they have names, otherwise a list.

        They are counted before they are read, because a struct may have thousands of members, and a transaction may
        use it hundreds of times.
        """
        self._meter.count(len(fields))
        if all(isinstance(field, dict) and "name" in field and "type" in field for field in fields):
            return self.read_members([(field["name"], field["type"]) for field in fields], scope, depth + 1)
        return [self.read(field, scope, depth + 1) for field in fields]

    def _scalar(self, kind: str) -> Any:
        if (integer := _INTEGER.fullmatch(kind)) is not None:
            taken = self._take(int(integer["bits"]) // 8)
            return int.from_bytes(taken, "little", signed=integer["sign"] == "i")
        if kind in _FLOATS:
            size, form = _FLOATS[kind]
            (number,) = struct.unpack(form, self._take(size))
            return repr(number)
        match kind:
            case "bool":
                return self._flag()
            case "publicKey" | "pubkey":
                return base58(self._take(32))
            case "bytes":
                return self._take(self._unsigned(4)).hex()
            case "string":
                try:
                    return self._take(self._unsigned(4)).decode()
                except UnicodeDecodeError:
                    raise _Undecodable from None
            case _:
                raise _Undecodable

    def _flag(self, size: int = 1) -> bool:
        taken = self._unsigned(size)
        if taken > 1:
            raise _Undecodable
        return taken == 1

    def _unsigned(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise _Undecodable
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken
