"""What an Anchor IDL says about a Solana instruction: its name, its arguments, the names of its accounts.

Here: finding the instruction by its discriminator, decoding Borsh, at a cost bounded by the data and a budget.
Not here: whether a text is an IDL (`organizations.interface_formats`), and transactions (`solana`).
"""

from __future__ import annotations

import functools
import hashlib
import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from keystead.organizations.interface_formats import Idl, IdlAccount, IdlInstruction, IdlType, read_idl

_VALUES_MAX: Final = 4096
"""Values read from one instruction. Its bytes bound all values but those that take none, such as empty structs."""
_NESTING_MAX: Final = 32

_INTEGER = re.compile(r"(?P<sign>[ui])(?P<bits>8|16|32|64|128|256)")
_FLOATS = {"f32": (4, "<f"), "f64": (8, "<d")}


class _Undecodable(Exception):
    """The data does not fit the IDL, or the IDL describes what is not decoded here."""


def parsed_instruction(interface: str, data: bytes, accounts: Sequence[str]) -> dict[str, Any] | None:
    """`parsed_instruction_data` of an instruction: empty if the data names no instruction of the IDL, None if it
    names one and the IDL has no single exact reading of it.

    `accounts` are the keys that the instruction names, in its order. Integers become int; public keys base 58;
    bytes hexadecimal digits; floats their decimal text; an absent option None; a struct a map; a variant of an
    enum a map of its name to its fields, or to an empty map.
    """
    program = _program(interface)
    matching = [each for each in program.instructions if data.startswith(each.discriminator)]
    if not matching:
        return {}
    if len(matching) != 1:
        return None
    (instruction,) = matching
    reader = _Reader(data, len(instruction.discriminator), program.types)
    try:
        arguments = reader.named(instruction.arguments)
        reader.finish()
    except _Undecodable:
        return None
    if len(accounts) < len(instruction.accounts):
        return None
    named = dict(zip(instruction.accounts, accounts, strict=False))
    return {
        "instruction_name": instruction.name,
        "discriminator": instruction.discriminator.hex(),
        "named_account": named,
        "named_accounts": named,
        "program_call_args": arguments,
    }


class _Instruction(msgspec.Struct, frozen=True):
    name: str
    discriminator: bytes
    accounts: tuple[str, ...]
    arguments: tuple[tuple[str, Any], ...]


class _Program(msgspec.Struct, frozen=True):
    instructions: tuple[_Instruction, ...]
    types: dict[str, IdlType]


@functools.lru_cache(maxsize=32)
def _program(interface: str) -> _Program:
    idl: Idl = read_idl(interface)
    instructions = (
        _Instruction(
            each.name,
            _discriminator(each),
            tuple(_account_names(each.accounts)),
            tuple((argument.name, argument.type) for argument in each.args),
        )
        for each in idl.instructions
    )
    defined = Counter(kind.name for kind in idl.types)
    return _Program(tuple(instructions), {kind.name: kind for kind in idl.types if defined[kind.name] == 1})


def _discriminator(instruction: IdlInstruction) -> bytes:
    """As the IDL gives it, or Anchor's: the first 8 bytes of SHA-256 of `global:` and the name in snake case."""
    if instruction.discriminator is not None:
        return bytes(instruction.discriminator)
    name = instruction.name
    if "_" not in name:
        name = re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()
    return hashlib.sha256(f"global:{name}".encode()).digest()[:8]


def _account_names(accounts: Sequence[IdlAccount], group: str = "") -> Iterator[str]:
    """Their names in order; those in a group are named group.account."""
    for account in accounts:
        if account.accounts:
            yield from _account_names(account.accounts, f"{group}{account.name}.")
        else:
            yield group + account.name


class _Reader:
    """Reads values of IDL types from Borsh. Whatever would not be written the same way again is refused."""

    def __init__(self, data: bytes, at: int, types: dict[str, IdlType]) -> None:
        self._data = data
        self._at = at
        self._types = types
        self._values = 0

    def finish(self) -> None:
        if self._at != len(self._data):
            raise _Undecodable

    def named(self, members: Sequence[tuple[str, Any]], depth: int = 0) -> dict[str, Any]:
        values = {name: self.read(kind, depth) for name, kind in members}
        if len(values) != len(members):
            raise _Undecodable  # two of one name: which of them would a policy mean?
        return values

    def read(self, kind: Any, depth: int = 0) -> Any:
        self._values += 1
        if self._values > _VALUES_MAX or depth > _NESTING_MAX:
            raise _Undecodable
        match kind:
            case str():
                return self._scalar(kind)
            case {"vec": inner}:
                return [self.read(inner, depth + 1) for _ in range(self._unsigned(4))]
            case {"array": [inner, int(length)]}:
                return [self.read(inner, depth + 1) for _ in range(length)]
            case {"option": inner}:
                return self.read(inner, depth + 1) if self._flag() else None
            case {"defined": str(name)} | {"defined": {"name": str(name)}}:
                return self._defined(name, depth)
            case _:
                # coption is laid out in several ways, generics need arguments.
                raise _Undecodable

    def _defined(self, name: str, depth: int) -> Any:
        kind = self._types.get(name)
        if kind is None or kind.serialization != "borsh":
            raise _Undecodable
        match kind.type.kind:
            case "struct":
                return self._members(kind.type.fields, depth)
            case "enum":
                index = self._unsigned(1)
                if index >= len(kind.type.variants):
                    raise _Undecodable
                variant = kind.type.variants[index]
                return {variant.name: self._members(variant.fields, depth) if variant.fields else {}}
            case _:
                return self.read(kind.type.target, depth + 1)

    def _members(self, fields: Sequence[Any], depth: int) -> Any:
        """Named members as a map, nameless ones as a list."""
        if all(isinstance(field, dict) and "name" in field and "type" in field for field in fields):
            return self.named([(field["name"], field["type"]) for field in fields], depth + 1)
        return [self.read(field, depth + 1) for field in fields]

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
                from solders.pubkey import Pubkey

                return str(Pubkey(self._take(32)))
            case "bytes":
                return self._take(self._unsigned(4)).hex()
            case "string":
                try:
                    return self._take(self._unsigned(4)).decode()
                except UnicodeDecodeError:
                    raise _Undecodable from None
            case _:
                raise _Undecodable

    def _flag(self) -> bool:
        taken = self._unsigned(1)
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
