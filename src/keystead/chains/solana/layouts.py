"""How the types of an IDL are laid out: from its expressions and definitions to layouts that `borsh` reads.

Here: the layouts as values, and the refusal of types that cannot be read. Only definitions that an instruction
reaches are looked at: the others, which describe accounts and events, may name anything. Not here: the members of
an IDL (`idl`), reading data (`borsh`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias, assert_never

import msgspec
from msgspec import UNSET

from keystead.chains.bounds import IDL_NESTING_MAX
from keystead.chains.interface_text import first_repeated
from keystead.chains.solana.idl import (
    Idl,
    IdlDefined,
    IdlField,
    IdlGeneric,
    IdlGenericArgument,
    IdlGenericLength,
    IdlMember,
    IdlType,
    IdlTypeExpression,
    TypeText,
    refused,
)

_CONSTANT = re.compile(r"[0-9]{1,9}", re.ASCII)


class IntegerLayout(msgspec.Struct, frozen=True):
    size: int
    signed: bool


class Float(msgspec.Struct, frozen=True):
    """IEEE 754. `form`: as the module struct names it."""

    size: int
    form: str


class Plain(StrEnum):
    """Types whose values have no parts. BYTES and STRING begin with their length, in four bytes."""

    BOOL = "bool"
    PUBLIC_KEY = "pubkey"
    BYTES = "bytes"
    STRING = "string"


class Vec(msgspec.Struct, frozen=True):
    item: Layout


class FixedArray(msgspec.Struct, frozen=True):
    """`length`: a number, or the parameter of the definition that gives it."""

    item: Layout
    length: int | Parameter


class Option(msgspec.Struct, frozen=True):
    item: Layout


class COption(msgspec.Struct, frozen=True):
    """An option of C. An IDL does not say how its program writes it."""

    item: Layout


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of the definition in which the layout stands."""

    name: str


class Defined(msgspec.Struct, frozen=True):
    """A definition, with a layout or a constant for each of its parameters. A Parameter passes on what it is."""

    name: str
    arguments: tuple[Layout | int, ...] = ()


Layout: TypeAlias = "IntegerLayout | Float | Plain | Vec | FixedArray | Option | COption | Parameter | Defined"


class Members(msgspec.Struct, frozen=True):
    """The members of a structure, variant or list of arguments. `names`: None if they have none."""

    layouts: tuple[Layout, ...]
    names: tuple[str, ...] | None


class Enum(msgspec.Struct, frozen=True):
    """The names of the variants and their members, in the order of their numbers; None for a variant without."""

    variants: tuple[tuple[str, Members | None], ...]


class Alias(msgspec.Struct, frozen=True):
    target: Layout


class Definition(msgspec.Struct, frozen=True):
    """`body`: that of a structure, an enum or an alias."""

    parameters: tuple[str, ...]
    body: Members | Enum | Alias


_WORDS: Final[Mapping[str, Layout]] = {
    **{f"u{8 * size}": IntegerLayout(size, signed=False) for size in (1, 2, 4, 8, 16, 32)},
    **{f"i{8 * size}": IntegerLayout(size, signed=True) for size in (1, 2, 4, 8, 16, 32)},
    "f32": Float(4, "<f"),
    "f64": Float(8, "<d"),
    **{plain.value: plain for plain in Plain},
    "publicKey": Plain.PUBLIC_KEY,  # before Anchor 0.30
}


class Layouts:
    """The layouts of one IDL. `definitions`: those that were reached from arguments, by name."""

    def __init__(self, idl: Idl) -> None:
        self.definitions: dict[str, Definition] = {}
        self._types = {kind.name: kind for kind in idl.types}
        self._count = Counter(kind.name for kind in idl.types)
        self._reached: list[IdlType] = []
        self._seen: set[str] = set()

    def arguments(self, fields: Sequence[IdlField], where: str) -> Members:
        """The arguments of an instruction, and every definition that they reach. Raises InvalidRequest."""
        members = self._named([(field.name, field.type) for field in fields], {}, where, "argument")
        while self._reached:
            kind = self._reached.pop()
            self.definitions[kind.name] = self._definition(kind, f"type {kind.name[:100]!r}")
        return members

    def _definition(self, kind: IdlType, where: str) -> Definition:
        if kind.serialization != "borsh":
            raise refused(f"{where}: `serialization` {str(kind.serialization)[:100]!r} is not read, only 'borsh'")
        parameters: dict[str, str] = {}
        for parameter in kind.generics:
            if not isinstance(parameter, IdlGeneric):
                raise refused(f"{where}: `generics` of an older specification are not read")
            parameters[parameter.name] = parameter.kind
        if len(parameters) != len(kind.generics):
            raise refused(f"{where}: two parameters of `generics` have one name")
        return Definition(tuple(parameters), self._body(kind, parameters, where))

    def _body(self, kind: IdlType, scope: Mapping[str, str], where: str) -> Members | Enum | Alias:
        body = kind.type
        given = {
            name
            for name, value in (
                ("fields", body.fields),
                ("variants", body.variants),
                ("value", body.value),
                ("alias", body.alias),
            )
            if value is not UNSET
        }
        allowed = {"struct": {"fields"}, "enum": {"variants"}, "alias": {"value"}, "type": {"alias"}}[body.kind]
        if given - allowed or (body.kind != "struct" and given != allowed):
            raise refused(f"{where}: a definition of kind {body.kind!r} has {' and '.join(sorted(allowed))} alone")
        match body.kind:
            case "struct":
                return self._members(body.fields or (), scope, where)
            case "enum":
                assert body.variants is not UNSET
                return self._enum(body.variants, scope, where)
            case "alias" | "type":
                return Alias(self._layout(body.value if body.alias is UNSET else body.alias, scope, where))
            case _:
                assert_never(body.kind)

    def _enum(self, variants: Sequence[Any], scope: Mapping[str, str], where: str) -> Enum:
        twice = first_repeated(variant.name for variant in variants)
        if twice is not None:
            raise refused(f"{where}: two variants are named {twice[:100]!r}")
        return Enum(
            tuple(
                (variant.name, self._members(variant.fields, scope, where) if variant.fields else None)
                for variant in variants
            )
        )

    def _members(self, fields: Sequence[str | IdlMember], scope: Mapping[str, str], where: str) -> Members:
        named, unnamed = [], []
        for field in fields:
            if isinstance(field, IdlMember) and field.name is not UNSET:
                if field.type is UNSET or _keywords(field):
                    raise refused(f"{where}: member {field.name[:100]!r} needs `type`, and nothing beside it")
                named.append((field.name, field.type))
            elif isinstance(field, IdlMember) and field.type is not UNSET:
                raise refused(f"{where}: a member with `type` needs `name`")
            else:
                unnamed.append(field)
        if named and unnamed:
            raise refused(f"{where}: some of its members have names, and some have none")
        if unnamed:
            return Members(tuple(self._layout(field, scope, where) for field in unnamed), None)
        return self._named(named, scope, where, "member")

    def _named(
        self, named: Sequence[tuple[str, TypeText]], scope: Mapping[str, str], where: str, what: str
    ) -> Members:
        twice = first_repeated(name for name, _ in named)
        if twice is not None:
            raise refused(f"{where}: two {what}s are named {twice[:100]!r}")
        layouts = [self._layout(kind, scope, f"{where}, {what} {name[:100]!r}") for name, kind in named]
        return Members(tuple(layouts), tuple(name for name, _ in named))

    def _layout(self, written: TypeText | Any, scope: Mapping[str, str], where: str, depth: int = 0) -> Layout:
        """The layout of a type. `scope`: the parameters of the definition that it stands in, with their kinds."""
        if depth > IDL_NESTING_MAX:
            raise refused(f"{where}: types are nested more than {IDL_NESTING_MAX} deep")
        if isinstance(written, str):
            if written not in _WORDS:
                raise refused(f"{where}: unknown type {written[:100]!r}")
            return _WORDS[written]
        keywords = _keywords(written)
        if len(keywords) != 1:
            raise refused(f"{where}: a type has one member, not {', '.join(keywords) or 'none'}")
        match keywords[0], getattr(written, keywords[0]):
            case "vec", inner:
                return Vec(self._layout(inner, scope, where, depth + 1))
            case "option", inner:
                return Option(self._layout(inner, scope, where, depth + 1))
            case "coption", inner:
                return COption(self._layout(inner, scope, where, depth + 1))
            case "array", (inner, length):
                return FixedArray(self._layout(inner, scope, where, depth + 1), _length(length, scope, where))
            case "generic", str(name) if scope.get(name) == "type":
                return Parameter(name)
            case "defined", defined:
                return self._defined(defined, scope, where, depth)
            case _:
                raise refused(f"{where}: unknown type {_shown(written)}")

    def _defined(self, defined: str | IdlDefined, scope: Mapping[str, str], where: str, depth: int) -> Defined:
        if isinstance(defined, str):
            defined = IdlDefined(defined)
        kind = self._types.get(defined.name)
        if kind is None:
            raise refused(f"{where}: type {defined.name[:100]!r} is not defined in `types`")
        if self._count[defined.name] > 1:
            raise refused(f"{where}: type {defined.name[:100]!r} is defined twice in `types`")
        if defined.name not in self._seen:
            self._seen.add(defined.name)
            self._reached.append(kind)
        if len(defined.generics) != len(kind.generics):
            raise refused(
                f"{where}: type {defined.name[:100]!r} has {len(kind.generics)} parameters, "
                f"not {len(defined.generics)}"
            )
        arguments = [
            self._argument(argument, parameter, scope, where, depth)
            for argument, parameter in zip(defined.generics, kind.generics, strict=True)
        ]
        return Defined(defined.name, tuple(arguments))

    def _argument(
        self,
        argument: IdlGenericArgument,
        parameter: IdlGeneric | str,
        scope: Mapping[str, str],
        where: str,
        depth: int,
    ) -> Layout | int:
        """The meaning of a generic argument. Anchor writes a constant parameter that is passed on as if it were a
        type."""
        if isinstance(parameter, IdlGeneric) and (argument.type is UNSET) is not (argument.value is UNSET):
            written, value = argument.type, argument.value
            if parameter.kind == "const":
                passed_on = value if isinstance(value, str) else _generic_name(written)
                if scope.get(passed_on) == "const":
                    return Parameter(passed_on)
                if argument.kind == "const" and isinstance(value, str) and _CONSTANT.fullmatch(value):
                    return int(value)
            elif argument.kind == "type" and written is not UNSET:
                return self._layout(written, scope, where, depth + 1)
        raise refused(f"{where}: unknown generic argument {_shown(argument)}")


def _length(written: int | IdlGenericLength, scope: Mapping[str, str], where: str) -> int | Parameter:
    if isinstance(written, int):
        if written < 0:
            raise refused(f"{where}: unknown type: an array of length {written}")
        return written
    if scope.get(written.generic) != "const":
        raise refused(f"{where}: unknown type: an array whose length is {written.generic[:100]!r}")
    return Parameter(written.generic)


def _generic_name(written: Any) -> str:
    """The name of the parameter that an expression is, alone; empty if it is another expression."""
    is_parameter = isinstance(written, IdlTypeExpression) and _keywords(written) == ["generic"]
    return str(written.generic) if is_parameter else ""


_KEYWORDS: Final = IdlTypeExpression.__struct_fields__


def _keywords(written: IdlTypeExpression) -> list[str]:
    return [name for name in _KEYWORDS if getattr(written, name) is not UNSET]


def _shown(written: msgspec.Struct) -> str:
    """An expression as the IDL has it, shortened."""
    try:
        return msgspec.json.encode(written).decode()[:100]
    except RecursionError:
        return "that is nested too deeply"
