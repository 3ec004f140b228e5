"""What is printed: a row per figure, the targets, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from bench.cases import CREATE_INTERFACE, LIST_WALLETS, SIGN_RAW_PAYLOAD, SIGN_TRANSACTION
from bench.run import Result

COLUMNS = (
    ("operation", ""),
    ("store", ""),
    ("workers", ":"),
    ("organizations", ":"),
    ("requests/s", ":"),
    ("verify/s", ":"),
    ("share", ":"),
    ("p50 ms", ":"),
    ("p99 ms", ":"),
    ("peak MB", ":"),
    ("others", ":"),
)
HEADER = "\n".join(
    f"| {' | '.join(cells)} |" for cells in ([name for name, _ in COLUMNS], [f"---{side}" for _, side in COLUMNS])
)

TARGETS = (
    (LIST_WALLETS.name, "sqlite", 0.40),
    (CREATE_INTERFACE.name, "sqlite", 0.12),
    (SIGN_RAW_PAYLOAD.name, "sqlite", 0.12),
    (SIGN_TRANSACTION.name, "sqlite", 0.06),
    (LIST_WALLETS.name, "postgres", 0.22),
)
"""Least shares of one worker with one organization."""

CROWD_TARGET = 0.9
"""The least share with many organizations, in shares with one."""


def row(result: Result) -> str:
    figures = result.figures
    operation = f"{result.case}, {result.asked}" if result.asked else result.case
    failed = f" ({figures.failures} failed)" if figures.failures else ""
    cells = (
        operation,
        result.store,
        str(result.workers),
        f"{result.organizations:,}",
        f"{figures.requests_per_s:,.0f}{failed}",
        f"{figures.verifications_per_s:,.0f}",
        f"{figures.share:.3f}",
        f"{figures.p50_ms:.1f}",
        f"{figures.p99_ms:.1f}",
        f"{figures.peak_mb:.0f}",
        f"{figures.others:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def verdicts(results: Sequence[Result]) -> list[str]:
    """A line per target that these results tell something about."""
    plain = [result for result in results if result.workers == 1 and not result.asked]
    shares: dict[tuple[str, str, bool], float] = {
        (result.case, result.store, result.organizations > 1): result.figures.share for result in plain
    }
    lines = [
        _verdict(f"{case}, {store}, one worker", shares[case, store, False], least)
        for case, store, least in TARGETS
        if (case, store, False) in shares
    ]
    lines += [
        _verdict(
            f"{case}, {store}: many organizations against one", share / shares[case, store, False], CROWD_TARGET
        )
        for (case, store, is_crowded), share in shares.items()
        if is_crowded
    ]
    return lines


def _verdict(what: str, got: float, least: float) -> str:
    return f"{'reached' if got >= least else 'MISSED '} {got:.3f} (at least {least:.2f})  {what}"


def write_json(path: Path, machine: Mapping[str, str], results: Sequence[Result]) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode({"machine": machine, "results": results})) + b"\n")
