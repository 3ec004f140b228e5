"""Is this text an Ethereum ABI, or an Anchor-style Solana IDL? Refusals say at which entry and why not.

Here: shape and type names; the types of an ABI are read by the eth-abi library. Not here: decoding calls.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Literal

import msgspec

from keystead.api.errors import InvalidRequest

FIELD = "parameters.smartContractInterface"
NESTING_MAX = 32


class AbiParameter(msgspec.Struct, frozen=True, gc=False):
    """An input or output. `components` are the members of a tuple."""

    type: str
    name: str = ""
    components: tuple[AbiParameter, ...] = ()


class AbiEntry(msgspec.Struct, frozen=True, gc=False):
    """A function, constructor, event, error, fallback or receive. Before Solidity 0.4.2 `type` could be absent."""

    type: Literal["function", "constructor", "event", "error", "fallback", "receive"] = "function"
    name: str = ""
    inputs: tuple[AbiParameter, ...] = ()
    outputs: tuple[AbiParameter, ...] = ()


_ABI = msgspec.json.Decoder(tuple[AbiEntry, ...])


def check_abi(text: str) -> None:
    """Raise InvalidRequest unless the text is a JSON array of entries whose types eth-abi can read."""
    entries: tuple[AbiEntry, ...] = _decoded(_ABI, text, "an Ethereum ABI")
    # Nearly all parameters are of a few types without components: what is asked of each type is asked once.
    written = {parameter.type for entry in entries for parameter in entry.inputs + entry.outputs}
    not_plain = {one for one in written if not _is_plain_abi_type(one)}
    for index, entry in enumerate(entries):
        if not entry.name and entry.type in ("function", "event", "error"):
            raise _refused("an Ethereum ABI", f"entry {index}: a {entry.type} needs a `name`")
        for parameter in [one for one in entry.inputs + entry.outputs if one.type in not_plain]:
            unknown = _unknown_abi_type(parameter)
            if unknown is not None:
                raise _refused("an Ethereum ABI", f"entry {index} ({entry.name}): unknown type {unknown[:100]!r}")


def _unknown_abi_type(parameter: AbiParameter, depth: int = 0) -> str | None:
    """The first type in the parameter that is none: an elementary type, or tuple with its components, with or
    without array brackets behind."""
    if depth > NESTING_MAX:
        raise _refused("an Ethereum ABI", f"tuples are nested more than {NESTING_MAX} deep")
    array = _ABI_ARRAY.match(parameter.type)
    if array is None:
        return parameter.type
    if array["item"] == "tuple":
        unknown = (_unknown_abi_type(component, depth + 1) for component in parameter.components)
        return next((one for one in unknown if one is not None), None)
    return None if _is_elementary_abi_type(array["item"]) else parameter.type


@functools.lru_cache(maxsize=1024)
def _is_plain_abi_type(written: str) -> bool:
    """Whether this is a type without components."""
    array = _ABI_ARRAY.match(written)
    return array is not None and array["item"] != "tuple" and _is_elementary_abi_type(array["item"])


# Only a short word reaches eth-abi's parser, which takes minutes for some types of a few thousand characters.
_ABI_ARRAY = re.compile(rf"(?P<item>[a-z0-9]{{1,20}})(\[([1-9][0-9]*)?\]){{0,{NESTING_MAX}}}\Z")


@functools.lru_cache(maxsize=1024)
def _is_elementary_abi_type(word: str) -> bool:
    from eth_abi.abi import is_encodable_type  # slow to import, and needed by few requests

    return bool(is_encodable_type(word))


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
    """What an alias stands for is under `value` in the old specification and under `alias` in the new one."""

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
    """`serialization` tells a layout other than Borsh. Parameters by name alone are of an older specification."""

    name: str
    type: IdlTypeBody
    serialization: Any = "borsh"
    generics: tuple[IdlGeneric | str, ...] = ()


class Idl(msgspec.Struct, frozen=True):
    """`types` must be there, even if it is empty."""

    instructions: tuple[IdlInstruction, ...]
    types: tuple[IdlType, ...]


_IDL = msgspec.json.Decoder(Idl)
_IDL_SCALARS = frozenset(
    ["bool", "bytes", "string", "publicKey", "pubkey", "f32", "f64"]
    + [f"{sign}{bits}" for sign in "ui" for bits in (8, 16, 32, 64, 128, 256)]
)


def check_idl(text: str) -> None:
    """Raise InvalidRequest unless the text is an IDL whose argument types are known or defined in it."""
    idl: Idl = _decoded(_IDL, text, "a Solana IDL")
    defined = {kind.name for kind in idl.types}
    for instruction in idl.instructions:
        if instruction.discriminator is not None and not all(
            0 <= byte <= 255 for byte in instruction.discriminator
        ):
            raise _refused("a Solana IDL", f"instruction {instruction.name!r}: a discriminator is a list of bytes")
        for argument in instruction.args:
            where = f"instruction {instruction.name!r}, argument {argument.name!r}"
            _check_idl_type(argument.type, _Names(defined), where)
    for kind in idl.types:
        members = [*kind.type.fields, *(field for variant in kind.type.variants for field in variant.fields)]
        if kind.type.target is not None:
            members.append(kind.type.target)
        generics = frozenset(each if isinstance(each, str) else each.name for each in kind.generics)
        for member in members:
            named = isinstance(member, dict) and "type" in member and "name" in member
            written = member["type"] if named else member
            _check_idl_type(written, _Names(defined, generics), f"type {kind.name!r}")


def read_idl(text: str) -> Idl:
    """An IDL that `check_idl` has accepted."""
    idl: Idl = _IDL.decode(text)
    return idl


class _Names(msgspec.Struct, frozen=True):
    """What a type may name: types of the IDL, and parameters of the definition that it is written in."""

    defined: set[str]
    generics: frozenset[str] = frozenset()


def _check_idl_type(written: Any, names: _Names, where: str, depth: int = 0) -> None:
    if depth > NESTING_MAX:
        raise _refused("a Solana IDL", f"{where}: types are nested more than {NESTING_MAX} deep")
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
                raise _refused("a Solana IDL", f"{where}: type {name[:100]!r} is not defined in `types`")
            _check_generic_arguments(written["defined"], names, where, depth)
        case _:
            raise _refused("a Solana IDL", f"{where}: unknown type {str(written)[:100]}")


def _check_generic_arguments(defined: Any, names: _Names, where: str, depth: int) -> None:
    """Of a defined type; whether they are as many as it has parameters is not asked, Rust has defaults for some."""
    arguments = defined.get("generics", []) if isinstance(defined, dict) else []
    for argument in arguments if isinstance(arguments, list) else [arguments]:
        match argument:
            case {"kind": "type", "type": inner}:
                _check_idl_type(inner, names, where, depth + 1)
            case {"kind": "const", "value": str()}:
                pass
            case _:
                raise _refused("a Solana IDL", f"{where}: unknown generic argument {str(argument)[:100]}")


def _decoded(decoder: msgspec.json.Decoder[Any], text: str, what: str) -> Any:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as refused:
        raise _refused(what, str(refused)) from None
    except msgspec.DecodeError as refused:
        raise InvalidRequest(f"invalid request body: field `{FIELD}`: not valid JSON: {refused}") from None
    except RecursionError:
        raise _refused(what, "nested too deeply") from None


def _refused(what: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"invalid request body: field `{FIELD}`: not {what}: {why}")
