"""Solana's transactions in words, from the keywords that policies see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from keystead.describe.amounts import LAMPORT_PLACES, in_units
from keystead.describe.description import ActivityDescription, Fact
from keystead.describe.fields import facts_of

_PROGRAMS: Final[Mapping[str, str]] = {
    "11111111111111111111111111111111": "System",
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA": "Token",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb": "Token-2022",
    "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL": "Associated Token Account",
    "ComputeBudget111111111111111111111111111111": "Compute Budget",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr": "Memo",
    "Stake11111111111111111111111111111111111111": "Stake",
}
_MOVE_NOTHING: Final = frozenset({"Compute Budget", "Memo", "Associated Token Account"})
"""The programs whose instructions move no coins and no tokens."""


def describe_solana(tx: Mapping[str, Any]) -> ActivityDescription:
    moves = [*map(_coins, tx["transfers"]), *map(_tokens, tx["spl_transfers"])]
    others = [
        _program(instruction["program_key"])
        for instruction in tx["instructions"]
        if _PROGRAMS.get(instruction["program_key"]) not in _MOVE_NOTHING
    ]
    only_moves = bool(moves) and len(others) == len(moves)
    if len(moves) == 1 and only_moves:
        what, recipient, amount = moves[0]
        headline = f"Send {amount} to {recipient}"
    elif only_moves:
        headline, what, recipient, amount = f"Make {len(moves)} transfers", "transfers", "", ""
    else:
        programs = ", ".join(dict.fromkeys(others))
        also = f", with {len(moves)} transfer{'s' if len(moves) > 1 else ''}" if moves else ""
        count = len(tx["instructions"])
        headline = f"Run {count} instruction{'s' if count > 1 else ''} of {programs}{also}"
        what, recipient, amount = "run programs", "", ""
    cautions = []
    if not only_moves:
        cautions.append(
            "programs may move coins and tokens of the accounts that sign, beyond the transfers that are listed"
        )
    if tx["address_table_lookups"]:
        cautions.append("some accounts are in lookup tables on chain: which ones cannot be shown")
    return ActivityDescription(
        headline=f"{headline}, on Solana",
        what=what,
        recipient=recipient,
        amount=amount,
        facts=tuple(_facts(tx, moves)),
        cautions=tuple(cautions),
    )


def _coins(transfer: Mapping[str, Any]) -> tuple[str, str, str]:
    return "send", transfer["to"], in_units(transfer["amount"], LAMPORT_PLACES, "SOL")


def _tokens(transfer: Mapping[str, Any]) -> tuple[str, str, str]:
    mint = transfer.get("token_mint")
    return "send tokens", transfer["to"], f"{transfer['amount']} units of {mint or 'a token'}"


def _program(key: str) -> str:
    return f"the {_PROGRAMS[key]} program" if key in _PROGRAMS else f"program {key}"


def _facts(tx: Mapping[str, Any], moves: list[tuple[str, str, str]]) -> Iterator[Fact]:
    yield Fact("chain", "Solana")
    yield Fact("fee payer", tx["account_keys"][0])
    if "priority_fee_lamports" in tx:
        yield Fact("priority fee", in_units(tx["priority_fee_lamports"], LAMPORT_PLACES, "SOL"))
    for number, (_, recipient, amount) in enumerate(moves, 1):
        yield Fact(f"transfer {number}", f"{amount} to {recipient}")
    for number, instruction in enumerate(tx["instructions"], 1):
        label, parsed = f"instruction {number}", instruction.get("parsed_instruction_data")
        size = len(instruction["instruction_data_hex"]) // 2
        if parsed:
            yield Fact(label, f"{parsed['instruction_name']} of {_program(instruction['program_key'])}")
            yield from facts_of(parsed.get("program_call_args", {}), f"{label}:")
        else:
            yield Fact(label, f"{_program(instruction['program_key'])}, {size} bytes of data")
