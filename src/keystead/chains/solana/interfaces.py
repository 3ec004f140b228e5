"""A Solana instruction by the IDL of its program: its name, its arguments, the names of its accounts.

Here: finding the instruction by its discriminator, naming accounts. Not here: the members of an IDL (`idl`), how
values are laid out (`layouts`, `borsh`), and transactions (`transaction`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from keystead.chains import bounds
from keystead.chains.interface_text import first_repeated
from keystead.chains.solana.borsh import ValueMeter, read_arguments
from keystead.chains.solana.facts import AccountKey, ParsedInstruction
from keystead.chains.solana.idl import Idl, IdlAccount, IdlDiscriminant, IdlInstruction, read_idl, refused
from keystead.chains.solana.layouts import Definition, Layouts, Members
from keystead.primitives.unreadable import Unreadable

_ANCHOR_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*|[a-z][a-z0-9_]*", re.ASCII)
_BEFORE_DIGIT = re.compile(r"(?<=[a-z0-9])(?=[0-9])")
_DIGITS_MAX: Final = 4
"""The most digits in a name in camel case whose discriminator is computed. Each of them doubles the readings."""


class _Accounts(msgspec.Struct, frozen=True):
    """The names of an instruction's accounts in order. `certain`: how many of them, from the first on, have their
    places however many accounts are given: all, unless absent accounts may be left out. `required`: how many cannot
    be absent."""

    names: tuple[str, ...]
    certain: int
    required: int

    def named(self, keys: Sequence[AccountKey]) -> dict[str, AccountKey] | None:
        """The keys by name; None if there are fewer than the program needs.

        If absent accounts may be left out and the number of keys is not that of the names, the accounts from the
        first optional one on are unreadable.
        """
        if len(keys) == len(self.names) or self.certain == len(self.names) <= len(keys):
            return dict(zip(self.names, keys, strict=False))
        if self.certain == len(self.names) or len(keys) < self.required:
            return None
        return dict.fromkeys(self.names, _LEFT_OUT) | dict(zip(self.names[: self.certain], keys, strict=False))


_LEFT_OUT: Final = Unreadable("optional accounts may be left out, and the data does not say which are there")


class _DeclaredInstruction(msgspec.Struct, frozen=True):
    name: str
    accounts: _Accounts
    arguments: Members


class ProgramIdl(msgspec.Struct, frozen=True):
    """The instructions of an uploaded IDL by discriminator, and the definitions that their arguments reach."""

    instructions: Mapping[bytes, _DeclaredInstruction]
    definitions: Mapping[str, Definition]

    @staticmethod
    def read(text: str) -> ProgramIdl:
        """The instructions of an IDL. Raises InvalidRequest if a member of it is not understood, a type that an
        instruction needs cannot be read, or some data could be of two instructions."""
        idl = read_idl(text)
        if len(idl.instructions) > bounds.IDL_INSTRUCTIONS_MAX:
            raise refused(
                f"{len(idl.instructions)} instructions; at most {bounds.IDL_INSTRUCTIONS_MAX} are allowed"
            )
        layouts = Layouts(idl)
        instructions: dict[bytes, _DeclaredInstruction] = {}
        for declared in idl.instructions:
            where = f"instruction {declared.name[:100]!r}"
            instruction = _DeclaredInstruction(
                declared.name, _accounts(declared, where), layouts.arguments(declared.args, where)
            )
            for discriminator in _discriminators(idl, declared, where):
                if instructions.setdefault(discriminator, instruction) is not instruction:
                    raise _two_readings(instructions[discriminator], instruction)
        for shorter, longer in pairwise(sorted(instructions)):
            if longer.startswith(shorter):
                raise _two_readings(instructions[shorter], instructions[longer])
        return ProgramIdl(instructions, layouts.definitions)

    def parse_instruction(
        self, data: bytes, accounts: Sequence[AccountKey], meter: ValueMeter
    ) -> ParsedInstruction | Unreadable:
        """The fact `parsed_instruction_data` of an instruction. Unreadable unless the data names an instruction of
        the IDL and there is exactly one reading of it by the IDL.

        `accounts` are the keys that the instruction names, in its order. Integers become int; public keys base 58;
        bytes hexadecimal digits; floats their decimal text; an absent option an Unreadable; a struct a map; a
        variant of an enum a map of its name to its fields, or to an empty map.
        """
        lengths = range(min(len(data), bounds.IDL_DISCRIMINATOR_BYTES_MAX) + 1)
        discriminator = next((data[:length] for length in lengths if data[:length] in self.instructions), None)
        if discriminator is None:
            return Unreadable("the uploaded interface has no such instruction")
        instruction = self.instructions[discriminator]
        arguments = read_arguments(instruction.arguments, data, len(discriminator), self.definitions, meter)
        named = instruction.accounts.named(accounts)
        if arguments is None or named is None:
            return Unreadable(f"the data or the accounts do not fit {instruction.name} of the uploaded interface")
        return {
            "instruction_name": instruction.name,
            "discriminator": discriminator.hex(),
            "named_account": named,
            "named_accounts": named,
            "program_call_args": arguments,
        }


def _two_readings(one: _DeclaredInstruction, other: _DeclaredInstruction) -> Exception:
    return refused(
        f"instructions {one.name[:100]!r} and {other.name[:100]!r}: some data could be of either: give each its "
        "`discriminator`"
    )


def _discriminators(idl: Idl, instruction: IdlInstruction, where: str) -> Iterator[bytes]:
    """As the IDL gives it, or Anchor's: the first 8 bytes of SHA-256 of `global:` and the name of the function.

    Before Anchor 0.30, an IDL has this name in camel case, which drops an underscore in front of a digit. Then each
    spelling names the instruction: the program has only one of them.
    """
    given, number = instruction.discriminator, instruction.discriminant
    if given is not None and number is not None:
        raise refused(f"{where}: `discriminator` and `discriminant` are not given together")
    if given is not None:
        yield bytes(given)
    elif number is not None:
        yield _number(number, where)
    elif idl.metadata is not None and idl.metadata.origin == "shank":
        raise refused(f"{where}: `discriminant` is missing")
    else:
        for name in _function_names(instruction.name, where):
            yield hashlib.sha256(f"global:{name}".encode()).digest()[:8]


def _number(discriminant: IdlDiscriminant, where: str) -> bytes:
    try:
        return discriminant.value.to_bytes(discriminant.size, "little")
    except OverflowError:
        raise refused(f"{where}: `discriminant` {discriminant.value} does not fit {discriminant.type}") from None


def _function_names(name: str, where: str) -> Iterator[str]:
    if _ANCHOR_NAME.fullmatch(name) is None:
        raise refused(f"{where}: Anchor gives this name no discriminator: give its `discriminator`")
    if "_" in name:
        yield name
        return
    snake = re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()
    parts = _BEFORE_DIGIT.split(snake)
    if len(parts) > _DIGITS_MAX + 1:
        raise refused(f"{where}: its function could have many names: give its `discriminator`")
    names = parts[:1]
    for part in parts[1:]:
        names = [name + separator + part for name in names for separator in ("", "_")]
    yield from names


def _accounts(instruction: IdlInstruction, where: str) -> _Accounts:
    accounts = list(_flattened(instruction.accounts, where))
    names = tuple(name for name, _ in accounts)
    twice = first_repeated(names)
    if twice is not None:
        raise refused(f"{where}: two accounts are named {twice[:100]!r}")
    if len(names) > bounds.IDL_ACCOUNTS_MAX:
        raise refused(f"{where}: {len(names)} accounts; the network allows at most {bounds.IDL_ACCOUNTS_MAX}")
    optional = [place for place, (_, is_optional) in enumerate(accounts) if is_optional]
    certain = optional[0] if optional and _may_leave_out(instruction) else len(names)
    return _Accounts(names, certain, len(names) - len(optional))


def _may_leave_out(instruction: IdlInstruction) -> bool:
    """Whether an absent account may be left out. With Anchor, the program's own address stands in its place; with
    Shank, that depends on the instruction, and without a word about it on the version of Shank."""
    strategy, default = instruction.legacy_optional_accounts_strategy, instruction.default_optional_accounts
    if strategy is None and default is None:
        return instruction.discriminant is not None
    return bool(strategy) or default is False


def _flattened(
    accounts: Sequence[IdlAccount], where: str, group: str = "", depth: int = 0
) -> Iterator[tuple[str, bool]]:
    """The names of the accounts in order, and whether they may be absent. Those in a group are named group.account;
    a group has no account of its own."""
    if depth > bounds.IDL_NESTING_MAX:
        raise refused(f"{where}: accounts are nested more than {bounds.IDL_NESTING_MAX} deep")
    for account in accounts:
        is_optional = account.optional or account.is_optional
        name = group + account.name
        if len(name) > bounds.INTERFACE_NAME_CHARACTERS_MAX:
            raise refused(
                f"{where}: account {account.name[:100]!r}: with its groups, its name has {len(name)} characters; "
                f"at most {bounds.INTERFACE_NAME_CHARACTERS_MAX} are allowed"
            )
        if account.accounts is msgspec.UNSET:
            yield name, is_optional
        elif is_optional:
            raise refused(f"{where}: account {account.name[:100]!r}: a group of accounts is not optional")
        else:
            yield from _flattened(account.accounts, where, f"{name}.", depth + 1)
