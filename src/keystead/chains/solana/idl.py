"""Anchor-style IDLs of Solana programs: checking a text, and its records.

Here: shape and type names; a refusal names the entry. Not here: reading instruction data (`interfaces`, `borsh`).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from keystead.chains.interface_text import invalid_interface, read_json

_WHAT = "a Solana IDL"
NESTING_MAX = 32
DISCRIMINATOR_BYTES_MAX = 64
"""The most bytes of a discriminator. Anchor uses 8 bytes, other frameworks 1 or 4."""


class IdlAccount(msgspec.Struct, frozen=True):
    """An account of an instruction, or a named group of accounts."""

    name: str
    accounts: tuple[IdlAccount, ...] = ()


class IdlField(msgspec.Struct, frozen=True):
    name: str
    type: Any


class IdlInstruction(msgspec.Struct, frozen=True):
    name: str
    accounts: tuple[IdlAccount, ...]
    args: tuple[IdlField, ...]
    discriminator: tuple[int, ...] | None = None


class IdlVariant(msgspec.Struct, frozen=True):
    """A variant's fields are named (objects) or not (types alone)."""

    name: str
    fields: tuple[Any, ...] = ()


class IdlTypeBody(msgspec.Struct, frozen=True):
    """The target of an alias is `value` in the old specification and `alias` in the new one."""

    kind: Literal["struct", "enum", "alias", "type"]
    fields: tuple[Any, ...] = ()
    variants: tuple[IdlVariant, ...] = ()
    value: Any = None
    alias: Any = None

    @property
    def target(self) -> Any:
        return self.alias if self.value is None else self.value


class IdlGeneric(msgspec.Struct, frozen=True):
    """A parameter of a type's definition: a type, or a constant that lengths of arrays name."""

    kind: Literal["type", "const"]
    name: str


class IdlType(msgspec.Struct, frozen=True):
    """A type that the IDL defines. `serialization`: the layout, if it is not Borsh. `generics`: in an older
    specification, the names of the parameters alone."""

    name: str
    type: IdlTypeBody
    serialization: Any = "borsh"
    generics: tuple[IdlGeneric | str, ...] = ()


class Idl(msgspec.Struct, frozen=True):
    """An IDL. `types` must be present, even if it is empty."""

    instructions: tuple[IdlInstruction, ...]
    types: tuple[IdlType, ...]


_IDL = msgspec.json.Decoder(Idl)
_IDL_SCALARS = frozenset(
    ["bool", "bytes", "string", "publicKey", "pubkey", "f32", "f64"]
    + [f"{sign}{bits}" for sign in "ui" for bits in (8, 16, 32, 64, 128, 256)]
)


def check_idl(text: str) -> None:
    """Raise InvalidRequest unless the text is an IDL whose argument types are known or defined in it."""
    idl: Idl = read_json(_IDL, text, _WHAT)
    defined = {kind.name for kind in idl.types}
    for instruction in idl.instructions:
        discriminator = instruction.discriminator
        if discriminator is not None and not all(0 <= byte <= 255 for byte in discriminator):
            raise invalid_interface(_WHAT, f"instruction {instruction.name!r}: a discriminator is a list of bytes")
        if discriminator is not None and len(discriminator) > DISCRIMINATOR_BYTES_MAX:
            raise invalid_interface(
                _WHAT,
                f"instruction {instruction.name!r}: a discriminator of {len(discriminator)} bytes; at most "
                f"{DISCRIMINATOR_BYTES_MAX} are allowed",
            )
        for argument in instruction.args:
            where = f"instruction {instruction.name!r}, argument {argument.name!r}"
            _check_idl_type(argument.type, _KnownTypes(defined), where)
    for kind in idl.types:
        members = [*kind.type.fields, *(field for variant in kind.type.variants for field in variant.fields)]
        if kind.type.target is not None:
            members.append(kind.type.target)
        generics = frozenset(
            parameter if isinstance(parameter, str) else parameter.name for parameter in kind.generics
        )
        for member in members:
            named = isinstance(member, dict) and "type" in member and "name" in member
            written = member["type"] if named else member
            _check_idl_type(written, _KnownTypes(defined, generics), f"type {kind.name!r}")


def read_idl(text: str) -> Idl:
    """An IDL that `check_idl` has accepted."""
    idl: Idl = _IDL.decode(text)
    return idl


class _KnownTypes(msgspec.Struct, frozen=True):
    """The names that a type may use: types of the IDL, and parameters of the definition that it is written in."""

    defined: set[str]
    generics: frozenset[str] = frozenset()


def _check_idl_type(written: Any, names: _KnownTypes, where: str, depth: int = 0) -> None:
    if depth > NESTING_MAX:
        raise invalid_interface(_WHAT, f"{where}: types are nested more than {NESTING_MAX} deep")
    match written:
        case str() if written in _IDL_SCALARS:
            return
        case {"vec": inner} | {"option": inner} | {"coption": inner}:
            _check_idl_type(inner, names, where, depth + 1)
        case {"array": [inner, int(length)]} if length >= 0:
            _check_idl_type(inner, names, where, depth + 1)
        case {"array": [inner, {"generic": str(name)}]} if name in names.generics:
            _check_idl_type(inner, names, where, depth + 1)
        case {"generic": str(name)} if name in names.generics:
            return
        case {"defined": str(name)} | {"defined": {"name": str(name)}}:
            if name not in names.defined:
                raise invalid_interface(_WHAT, f"{where}: type {name[:100]!r} is not defined in `types`")
            _check_generic_arguments(written["defined"], names, where, depth)
        case _:
            raise invalid_interface(_WHAT, f"{where}: unknown type {str(written)[:100]}")


def _check_generic_arguments(defined: Any, names: _KnownTypes, where: str, depth: int) -> None:
    """Check the generic arguments of a defined type. Their number is not checked, because parameters may have
    defaults."""
    arguments = defined.get("generics", []) if isinstance(defined, dict) else []
    for argument in arguments if isinstance(arguments, list) else [arguments]:
        match argument:
            case {"kind": "type", "type": inner}:
                _check_idl_type(inner, names, where, depth + 1)
            case {"kind": "const", "value": str()}:
                pass
            case _:
                raise invalid_interface(_WHAT, f"{where}: unknown generic argument {str(argument)[:100]}")
