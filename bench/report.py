"""The output: a row for each figure, the targets, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from bench.cases import (
    CREATE_INTERFACE,
    CREATE_WALLET,
    LIST_WALLETS,
    SIGN_BY_MANY_KEYS,
    SIGN_RAW_PAYLOAD,
    SIGN_TRANSACTION,
    UPDATE_TAG,
)
from bench.measuring import DISTURBED, Figures
from bench.results import Result

COLUMNS = (
    ("operation", ""),
    ("store", ""),
    ("processes", ":"),
    ("organizations", ":"),
    ("requests/s", ":"),
    ("verify/s", ":"),
    ("share", ":"),
    ("p50 ms", ":"),
    ("p99 ms", ":"),
    ("processor us", ":"),
    ("peak MB", ":"),
    ("others", ":"),
    ("slowed", ":"),
)
HEADER = "\n".join(
    f"| {' | '.join(cells)} |" for cells in ([name for name, _ in COLUMNS], [f"---{side}" for _, side in COLUMNS])
)

TARGETS: Mapping[tuple[str, str], float] = {
    (LIST_WALLETS.name, "sqlite"): 0.40,
    (CREATE_INTERFACE.name, "sqlite"): 0.11,
    (UPDATE_TAG.name, "sqlite"): 0.10,
    (SIGN_RAW_PAYLOAD.name, "sqlite"): 0.09,
    (SIGN_BY_MANY_KEYS.name, "sqlite"): 0.09,
    (SIGN_TRANSACTION.name, "sqlite"): 0.06,
    (CREATE_WALLET.name, "sqlite"): 0.01,
    (LIST_WALLETS.name, "postgres"): 0.30,
}
"""The least shares of one worker with one organization."""

NEARLY = 0.9
"""A share of at least this fraction of its target is within the tolerance."""


def row(result: Result) -> str:
    figures = result.figures
    failed = f" ({figures.failures} failed)" if figures.failures else ""
    cells = (
        _operation(result),
        result.store,
        str(result.workers),
        f"{result.organizations:,}",
        f"{figures.requests_per_s:,.0f}{failed}",
        f"{figures.verifications_per_s:,.0f}",
        f"{figures.share:.3f}",
        f"{figures.p50_ms:.1f}",
        f"{figures.p99_ms:.1f}",
        f"{figures.processor_us:.0f}",
        f"{figures.peak_mb:.0f}",
        f"{figures.others:.2f}",
        f"{figures.slowed:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def verdicts(results: Sequence[Result]) -> list[str]:
    """A line for each target for which there is a result."""
    lines = [
        _verdict(
            f"{_operation(result)}, {result.store}, one worker", result.figures.share, TARGETS[key], result.figures
        )
        for result in results
        if (key := (result.case, result.store)) in TARGETS and result.workers == result.organizations == 1
    ]
    lines += [
        _verdict(
            f"{_operation(result)}, {result.store}: against {result.baseline.what}",
            result.figures.share / result.baseline.share,
            result.baseline.least,
            result.figures,
        )
        for result in results
        if result.baseline is not None and result.baseline.least is not None
    ]
    return lines


def _operation(result: Result) -> str:
    return f"{result.case}, {result.asked}" if result.asked else result.case


def _verdict(what: str, got: float, least: float, figures: Figures) -> str:
    """A target is missed only if no other program used the server's core, because others lower a share and never
    raise it."""
    disturbed = figures.others > DISTURBED
    if got >= least:
        word = "reached"
    elif got >= least * NEARLY:
        word = "nearly "
    else:
        word = "unknown" if disturbed else "MISSED "
    others = f" (others had {figures.others:.2f} of a core)" if disturbed else ""
    return f"{word} {got:.3f} (at least {least:.2f})  {what}{others}"


def write_json(path: Path, machine: Mapping[str, str], results: Sequence[Result]) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode({"machine": machine, "results": results})) + b"\n")
