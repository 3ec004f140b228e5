"""A Solana instruction by its Anchor IDL: its name, its arguments, the names of its accounts.

Here: finding the instruction by its discriminator, naming accounts. Not here: how values are laid out
(`borsh`), whether a text is an IDL (`idl`), and transactions (`transaction`).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from keystead.chains.solana.borsh import ValueMeter, read_arguments
from keystead.chains.solana.facts import AccountKey, ParsedInstruction
from keystead.chains.solana.idl import DISCRIMINATOR_BYTES_MAX, IdlAccount, IdlInstruction, IdlType, read_idl
from keystead.primitives.unreadable import Unreadable


class _DeclaredInstruction(msgspec.Struct, frozen=True):
    name: str
    discriminator: bytes
    accounts: tuple[str, ...]
    arguments: tuple[tuple[str, Any], ...]


class ProgramIdl(msgspec.Struct, frozen=True):
    """The instructions of an uploaded IDL by discriminator, and the types that it defines once, by name."""

    instructions: Mapping[bytes, Sequence[_DeclaredInstruction]]
    types: Mapping[str, IdlType]

    @staticmethod
    def read(text: str) -> ProgramIdl:
        """The instructions of a text that `check_idl` has accepted."""
        idl = read_idl(text)
        instructions: dict[bytes, list[_DeclaredInstruction]] = {}
        for declared in idl.instructions:
            instruction = _DeclaredInstruction(
                declared.name,
                _discriminator(declared),
                tuple(_account_names(declared.accounts)),
                tuple((argument.name, argument.type) for argument in declared.args),
            )
            instructions.setdefault(instruction.discriminator, []).append(instruction)
        definitions = Counter(kind.name for kind in idl.types)
        return ProgramIdl(instructions, {kind.name: kind for kind in idl.types if definitions[kind.name] == 1})

    def parse_instruction(
        self, data: bytes, accounts: Sequence[AccountKey], meter: ValueMeter
    ) -> ParsedInstruction | Unreadable:
        """The fact `parsed_instruction_data` of an instruction. Unreadable unless the data names one instruction of
        the IDL and there is exactly one reading of it by the IDL.

        `accounts` are the keys that the instruction names, in its order. Integers become int; public keys base 58;
        bytes hexadecimal digits; floats their decimal text; an absent option an Unreadable; a struct a map; a
        variant of an enum a map of its name to its fields, or to an empty map.
        """
        lengths = range(min(len(data), DISCRIMINATOR_BYTES_MAX) + 1)
        matching = [known for length in lengths for known in self.instructions.get(data[:length], ())]
        if not matching:
            return Unreadable("the uploaded interface has no such instruction")
        if len(matching) > 1:
            names = ", ".join(instruction.name for instruction in matching[:2])
            return Unreadable(f"the data fits several instructions of the uploaded interface: {names}")
        (instruction,) = matching
        start = len(instruction.discriminator)
        arguments = read_arguments(instruction.arguments, data, start, self.types, meter)
        if arguments is None or len(accounts) < len(instruction.accounts):
            return Unreadable(f"the data or the accounts do not fit {instruction.name} of the uploaded interface")
        named = dict(zip(instruction.accounts, accounts, strict=False))
        return {
            "instruction_name": instruction.name,
            "discriminator": instruction.discriminator.hex(),
            "named_account": named,
            "named_accounts": named,
            "program_call_args": arguments,
        }


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
