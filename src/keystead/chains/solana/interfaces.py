"""What an Anchor IDL says about a Solana instruction: its name, its arguments, the names of its accounts.

Here: finding the instruction by its discriminator, naming accounts. Not here: how values are laid out
(`solana_values`), whether a text is an IDL (`organizations.interface_formats`), and transactions (`solana`).
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from keystead.chains.solana.borsh import read_arguments
from keystead.chains.solana.idl import Idl, IdlAccount, IdlInstruction, IdlType, read_idl


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
    arguments = read_arguments(instruction.arguments, data, len(instruction.discriminator), program.types)
    if arguments is None or len(accounts) < len(instruction.accounts):
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
