"""Solana's transactions in words, from the keywords that policies see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from keystead.chains.facts import TextMovement
from keystead.chains.movements import NATIVE, MovementKind
from keystead.chains.solana.facts import SolanaTransaction
from keystead.chains.solana.movements import ASSOCIATED_ACCOUNTS, COMPUTE_BUDGET, MEMOS
from keystead.describe.amounts import LAMPORT_PLACES, in_units, unknown_or
from keystead.describe.description import ActivityDescription, Fact
from keystead.describe.fields import facts_of
from keystead.primitives.unreadable import Unreadable

_PROGRAMS: Final[Mapping[str, str]] = {
    "11111111111111111111111111111111": "System",
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA": "Token",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb": "Token-2022",
    ASSOCIATED_ACCOUNTS: "Associated Token Account",
    COMPUTE_BUDGET: "Compute Budget",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr": "Memo",
    "Stake11111111111111111111111111111111111111": "Stake",
}
_IN_THE_MARGIN: Final = frozenset({COMPUTE_BUDGET, ASSOCIATED_ACCOUNTS, *MEMOS})
"""Programs that transfers come with. What they move, rent, is a detail."""


def describe_solana(tx: SolanaTransaction) -> ActivityDescription:
    moves = [moved for moved in tx["movements"] if moved["contract"] not in _IN_THE_MARGIN]
    transfers = [_transfer(moved) for moved in moves if moved["kind"] == MovementKind.TRANSFER]
    others = [
        _program(instruction["program_key"])
        for instruction in tx["instructions"]
        if instruction["program_key"] not in _IN_THE_MARGIN
    ]
    only_transfers = bool(transfers) and len(others) == len(moves) == len(transfers)
    if len(transfers) == 1 and only_transfers:
        what, recipient, amount = transfers[0]
        headline = f"Send {amount} to {recipient}"
    elif only_transfers:
        headline, what, recipient, amount = f"Make {len(transfers)} transfers", "transfers", "", ""
    else:
        programs = ", ".join(dict.fromkeys(others))
        also = f", with {len(transfers)} transfer{'s' if len(transfers) > 1 else ''}" if transfers else ""
        count = len(tx["instructions"])
        headline = f"Run {count} instruction{'s' if count > 1 else ''} of {programs}{also}"
        what, recipient, amount = "run programs", "", ""
    cautions = []
    if any(moved["kind"] == MovementKind.UNKNOWN for moved in moves):
        cautions.append(
            "programs may move coins and tokens of the accounts that sign, beyond the transfers that are listed"
        )
    cautions += [_power(moved) for moved in moves if moved["kind"] in _POWER]
    if tx["address_table_lookups"]:
        cautions.append("some accounts are in lookup tables on chain: which ones cannot be shown")
    return ActivityDescription(
        headline=f"{headline}, on Solana",
        what=what,
        recipient=recipient,
        amount=amount,
        facts=tuple(_facts(tx)),
        cautions=tuple(cautions),
    )


_POWER: Final[Mapping[str, str]] = {
    MovementKind.ALLOWANCE: "may take tokens of",
    MovementKind.AUTHORITY: "gets power over",
}


def _power(moved: TextMovement) -> str:
    who, whose = unknown_or(moved["to"]) or "nobody", unknown_or(moved["from"])
    return f"{moved['name']}: {who} {_POWER[moved['kind']]} {whose}"


def _transfer(moved: TextMovement) -> tuple[str, str, str]:
    """Short form, recipient, amount."""
    return "send" if moved["asset"] == NATIVE else "send tokens", unknown_or(moved["to"]), _amount(moved)


def _amount(moved: TextMovement) -> str:
    asset, amount = moved["asset"], moved["amount"]
    if asset != NATIVE:
        token = "a token" if isinstance(asset, Unreadable) else asset
        return f"{unknown_or(amount)} units of {token}"
    return unknown_or(amount) if isinstance(amount, Unreadable) else in_units(amount, LAMPORT_PLACES, "SOL")


def _program(key: str) -> str:
    return f"the {_PROGRAMS[key]} program" if key in _PROGRAMS else f"program {key}"


def _facts(tx: SolanaTransaction) -> Iterator[Fact]:
    yield Fact("chain", "Solana")
    yield Fact("fee payer", unknown_or(tx["account_keys"][0]))
    transfers = [moved for moved in tx["movements"] if moved["kind"] == MovementKind.TRANSFER]
    for number, moved in enumerate(transfers, 1):
        yield Fact(f"transfer {number}", f"{_amount(moved)} to {unknown_or(moved['to'])}")
    for number, instruction in enumerate(tx["instructions"], 1):
        label, parsed = f"instruction {number}", instruction["parsed_instruction_data"]
        program, size = instruction["program_key"], len(instruction["instruction_data_hex"]) // 2
        if not isinstance(parsed, Unreadable):
            yield Fact(label, f"{parsed['instruction_name']} of {_program(program)}")
            yield from facts_of(parsed["program_call_args"], f"{label}:")
        else:
            why = "" if program in _PROGRAMS else f": {parsed.reason}"
            yield Fact(label, f"{_program(program)}, {size} bytes of data{why}")
    yield Fact("fee", f"at most {in_units(tx['fee'], LAMPORT_PLACES, 'SOL')}")
