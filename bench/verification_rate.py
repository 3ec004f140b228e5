"""The verification rate: how many P-256 signatures `openssl speed` verifies per second on these cores, now.

Every request needs at least one such verification. Therefore the ratio of a server's rate to this rate (its share)
can be compared between machines, and between times of different load.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence, Set

from bench.cores import pinned
from bench.failure import BenchFailure

_SECONDS = 1
"""The least time of `openssl speed`. It also signs for as long, so a run takes twice this time."""


def verifications_per_s(cores: Set[int]) -> float:
    """The sum over these cores, with `openssl speed` on each of them at the same time."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise BenchFailure("the command openssl is not installed: install it; `openssl speed` is needed")
    runs = [_begun([openssl, "speed", "-seconds", str(_SECONDS), "ecdsap256"], core) for core in sorted(cores)]
    return sum(_rate(run) for run in runs)


def _begun(command: Sequence[str], core: int) -> subprocess.Popen[str]:
    with pinned({core}):
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _rate(run: subprocess.Popen[str]) -> float:
    printed, _ = run.communicate()
    # 256 bits ecdsa (nistp256)   0.0000s   0.0001s  39206.0  12614.0
    try:
        return float(printed.split()[-1])
    except (IndexError, ValueError):
        raise BenchFailure(f"openssl speed printed no rate: {printed!r}") from None


def openssl_version() -> str:
    return subprocess.run(["openssl", "version"], capture_output=True, text=True, check=True).stdout.strip()
