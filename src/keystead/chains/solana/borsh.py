"""Values, read from the data of a Solana instruction by their layouts, at a cost bounded by the data and a budget.

Here: Borsh, generic definitions, `coption`. Not here: which instruction it is (`interfaces`), what layouts there
are (`layouts`).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final, assert_never

import msgspec

from keystead.chains.addresses.text import base58
from keystead.chains.bounds import BORSH_NESTING_MAX, SOLANA_VALUES_MAX
from keystead.chains.solana import layouts
from keystead.primitives.unreadable import Unreadable


class _Undecodable(Exception):
    """The data does not fit the layouts."""


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
        self._left = SOLANA_VALUES_MAX

    def count(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise _Undecodable


def read_arguments(
    arguments: layouts.Members,
    data: bytes,
    at: int,
    definitions: Mapping[str, layouts.Definition],
    meter: ValueMeter,
) -> dict[str, Any] | None:
    """The values of the arguments by name, read from `data`, beginning at position `at`.

    `definitions`: those that the layouts name. None if there is not exactly one reading, or if the transaction has
    more values than `meter` has left.

    Programs may ignore bytes after their arguments. So if a `coption` is among the arguments, a reading that leaves
    bytes counts as well: if it differs, the program could act on other values than a policy has seen.
    """
    readings: list[dict[str, Any]] = []
    is_exact = False
    for layout in _OPTION_LAYOUTS:
        reader = _BorshReader(data, at, definitions, layout, meter)
        try:
            readings.append(dict(zip(arguments.names or (), reader.read_each(arguments, {}, 0), strict=True)))
            is_exact = is_exact or reader.is_finished
        except _Undecodable:
            pass
        if not reader.met_coption:
            break
    return readings[0] if is_exact and all(reading == readings[0] for reading in readings) else None


class _Meaning(msgspec.Struct, frozen=True):
    """The value of a generic parameter: a layout, whose own parameters `scope` resolves, or a constant."""

    value: layouts.Layout | int
    scope: Mapping[str, _Meaning]


_Scope = Mapping[str, _Meaning]


class _BorshReader:
    """Reads values from Borsh. It refuses bytes that an encoder would not write."""

    def __init__(
        self,
        data: bytes,
        at: int,
        definitions: Mapping[str, layouts.Definition],
        option_layout: _OptionLayout,
        meter: ValueMeter,
    ) -> None:
        self._data = data
        self._at = at
        self._definitions = definitions
        self._option_layout = option_layout
        self._meter = meter
        self.met_coption = False

    @property
    def is_finished(self) -> bool:
        return self._at == len(self._data)

    def read_each(self, members: layouts.Members, scope: _Scope, depth: int) -> list[Any]:
        """The members in order. They are counted before they are read, because a struct may have thousands of
        members, and a transaction may use it hundreds of times."""
        self._meter.count(len(members.layouts))
        return [self.read(layout, scope, depth) for layout in members.layouts]

    def read(self, layout: layouts.Layout, scope: _Scope, depth: int) -> Any:
        self._meter.count(1)
        if depth > BORSH_NESTING_MAX:
            raise _Undecodable
        match layout:
            case layouts.IntegerLayout():
                return int.from_bytes(self._take(layout.size), "little", signed=layout.signed)
            case layouts.Float():
                (number,) = struct.unpack(layout.form, self._take(layout.size))
                return repr(number)
            case layouts.Plain():
                return self._plain(layout)
            case layouts.Vec():
                return [self.read(layout.item, scope, depth + 1) for _ in range(self._unsigned(4))]
            case layouts.FixedArray():
                length = _constant(layout.length, scope)
                return [self.read(layout.item, scope, depth + 1) for _ in range(length)]
            case layouts.Option():
                return self.read(layout.item, scope, depth + 1) if self._flag() else ABSENT
            case layouts.COption():
                return self._coption(layout.item, scope, depth)
            case layouts.Parameter():
                meaning = scope[layout.name]
                assert not isinstance(meaning.value, int)
                return self.read(meaning.value, meaning.scope, depth + 1)
            case layouts.Defined():
                return self._defined(layout, scope, depth)
            case _:
                assert_never(layout)

    def _coption(self, inner: layouts.Layout, scope: _Scope, depth: int) -> Any:
        self.met_coption = True
        if self._flag(self._option_layout.tag_bytes):
            return self.read(inner, scope, depth + 1)
        if self._option_layout.padded:
            begin = self._at
            self.read(inner, scope, depth + 1)
            if any(self._data[begin : self._at]):
                raise _Undecodable
        return ABSENT

    def _defined(self, layout: layouts.Defined, scope: _Scope, depth: int) -> Any:
        definition = self._definitions[layout.name]
        self._meter.count(len(definition.parameters))
        inside = {
            name: scope[argument.name] if isinstance(argument, layouts.Parameter) else _Meaning(argument, scope)
            for name, argument in zip(definition.parameters, layout.arguments, strict=True)
        }
        match definition.body:
            case layouts.Members():
                return self._members(definition.body, inside, depth)
            case layouts.Enum():
                index = self._unsigned(1)
                if index >= len(definition.body.variants):
                    raise _Undecodable
                name, members = definition.body.variants[index]
                return {name: {} if members is None else self._members(members, inside, depth)}
            case layouts.Alias():
                return self.read(definition.body.target, inside, depth + 1)
            case _:
                assert_never(definition.body)

    def _members(self, members: layouts.Members, scope: _Scope, depth: int) -> Any:
        """The members of a struct or variant: a map if they have names, otherwise a list."""
        values = self.read_each(members, scope, depth + 1)
        return values if members.names is None else dict(zip(members.names, values, strict=True))

    def _plain(self, kind: layouts.Plain) -> Any:
        match kind:
            case layouts.Plain.BOOL:
                return self._flag()
            case layouts.Plain.PUBLIC_KEY:
                return base58(self._take(32))
            case layouts.Plain.BYTES:
                return self._take(self._unsigned(4)).hex()
            case layouts.Plain.STRING:
                try:
                    return self._take(self._unsigned(4)).decode()
                except UnicodeDecodeError:
                    raise _Undecodable from None
            case _:
                assert_never(kind)

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


def _constant(length: int | layouts.Parameter, scope: _Scope) -> int:
    if isinstance(length, int):
        return length
    value = scope[length.name].value
    assert isinstance(value, int)
    return value
