"""The page of the benchmark's results, from docs/figures/benchmarks.json. Not here: measuring (`bench`), the
explanations (docs/benchmarks.md)."""

from __future__ import annotations

import json
from pathlib import Path

from bench.report import TARGETS

RESULTS = Path(__file__).parents[2] / "docs" / "figures" / "benchmarks.json"

WHAT = """\
What `make bench` measured ([how](../benchmarks.md)), with one worker and one organization. The share is that of
the verification rate."""


def benchmarks_page(mark: str) -> str:
    """The text of the page. `mark`: its first line."""
    written = json.loads(RESULTS.read_text())
    machine = written["machine"]
    lines = [mark, "# Results of the benchmark", "", WHAT, ""]
    ran_on = (machine[each] for each in ("processor", "file system"))
    lines.append(f"{machine['date']}, Python {machine['python']}: {'; '.join(ran_on)}.")
    lines += ["", "| operation | store | requests/s | processor time | p50, p99 | share | target |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    for result in written["results"]:
        key = (result["case"], result["store"])
        if result["workers"] == result["organizations"] == 1 and "server" not in result["asked"]:
            target = f"{TARGETS[key]:.2f}" if key in TARGETS else ""
            lines.append(f"| {' | '.join([*key, *_cells(result['figures']), target])} |")
    return "\n".join(lines) + "\n"


def _cells(figures: dict[str, float]) -> list[str]:
    return [
        f"{figures['requests_per_s']:,.0f}",
        f"{figures['processor_us']:,.0f} us",
        f"{figures['p50_ms']:.1f}, {figures['p99_ms']:.1f} ms",
        f"{figures['share']:.2f}",
    ]
