"""How much slower Python runs on this machine now than at its best: the time of a fixed piece of work on the
server's core, before and after each block.

The verification rate depends on the processor's registers, which are not shared. A server mostly uses memory and
caches, which it shares with other guests of the physical machine. Other guests can halve the speed of the same code
for some seconds, while the verification rate hardly changes. This piece of work becomes slower as a server does.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Set

from bench.cores import pinned
from bench.failure import BenchFailure

_WORK = """
import json, time
text = json.dumps([{"id": i, "tags": [str(i)] * 5, "of": {"share": i / 3}} for i in range(300)])
begun = time.perf_counter()
for _ in range(120):
    json.loads(text)
print(time.perf_counter() - begun)
"""


class Slowdown:
    """Measures the fixed work, and remembers its shortest time in this run."""

    def __init__(self) -> None:
        self._best_s = float("inf")

    def seconds(self, cores: Set[int]) -> float:
        """How long the work takes now, in seconds: the mean of these cores."""
        taken = statistics.mean(_taken_s(core) for core in cores)
        self._best_s = min(self._best_s, taken)
        return taken

    def factor(self, seconds: float) -> float:
        """This time divided by the shortest one."""
        return seconds / self._best_s


def _taken_s(core: int) -> float:
    with pinned({core}):
        run = subprocess.run([sys.executable, "-I", "-c", _WORK], capture_output=True, text=True)
    try:
        return float(run.stdout)
    except ValueError:
        raise BenchFailure(f"the fixed piece of work failed: {run.stderr}") from None
