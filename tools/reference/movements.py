"""The page of movements: each function, structure and instruction of the tables, with what it moves.

From the examples of the tests: a test fails for a row of a table without one, and checks what each moves. Not here:
the tables themselves (`keystead.chains`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.chains.ethereum.movers import FUNCTIONS, STRUCTURES
from tests.chains.solana.movers import HARMLESS
from tests.chains.solana.movers import MOVERS as INSTRUCTIONS
from tests.chains.tron.movers import MOVERS as CONTRACTS

WHAT = """\
What each function, structure and instruction moves, in the words of policies
([what moves value](../policies.md#what-moves-value)). [Transactions](../transactions.md#movements) says what holds
for everything that is not in these tables."""

Moves = Sequence[tuple[str, str, str, str, Any]]


def movements_page(mark: str) -> str:
    """The text of the page. `mark`: its first line."""
    functions = [(one.signature.partition("(")[0], one.moves) for one in FUNCTIONS]
    structures = [(one.primary_type, one.moves) for one in STRUCTURES.values() if one.moves[0][0] != "UNKNOWN"]
    instructions = [
        ("Token-2022: other extensions" if "extension" in name else name, one.moves)
        for name, one in INSTRUCTIONS.items()
        if not name.startswith("Other:")
    ]
    lines = [mark, "# Movements", "", WHAT]
    lines += ["", "## Functions of contracts (Ethereum, Tempo, Tron)", "", *_table("functions", functions)]
    lines += ["", "## Typed data", "", *_table("structures", structures)]
    lines += ["", "## Instructions (Solana)", "", *_table("instructions", instructions)]
    lines += ["", "These move nothing of the signer's:", "", *[f"- {name}" for name in HARMLESS]]
    contracts = [(name, one.moves) for name, one in CONTRACTS.items() if "Trigger" not in name]
    lines += ["", "## Types of contracts (Tron)", "", *_table("types", contracts)]
    lines += [
        "",
        "TriggerSmartContract moves what the function moves, and the coins and tokens (TRC-10) of the call.",
    ]
    return "\n".join(lines) + "\n"


def _table(heading: str, rows: Iterable[tuple[str, Moves]]) -> list[str]:
    """One row for all that move the same."""
    names: dict[str, dict[str, None]] = {}
    for name, moves in rows:
        names.setdefault(_moved(moves), {})[name] = None
    lines = [f"| {heading} | movements |", "|---|---|"]
    return lines + [f"| {', '.join(named)} | {moved} |" for moved, named in names.items()]


def _moved(moves: Moves) -> str:
    return "; ".join(dict.fromkeys(_text(*move) for move in moves)) or "nothing"


def _text(kind: str, asset: str, _from: str, _to: str, amount: Any) -> str:
    if kind == "UNKNOWN":
        return "UNKNOWN, its asset unknown" if asset == "unknown" else "UNKNOWN, its asset the contract itself"
    of = {"NATIVE": " of NATIVE", "unknown": ", the asset unknown"}.get(asset, "")
    return f"{kind}{of}{', the amount unknown' if amount == 'unknown' else ''}"
