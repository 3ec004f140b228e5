"""The memory and processor time of processes, as Linux counts them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def family(pid: int) -> Iterator[int]:
    """The ids of the process and all its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
        for child in children:
            yield from family(int(child))


def peak_bytes(pid: int) -> int:
    """The peak of the process's resident memory (VmHWM)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def others_s() -> float:
    """Processor time, in seconds since some moment, of all processes except this one and its descendants."""
    user, nice, system, _, _, _, _, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + steal) / _TICKS_PER_S - processor_s(os.getpid())


def processor_s(pid: int) -> float:
    """Processor time, in seconds, of the process and its descendants."""
    return sum(map(_ticks, family(pid))) / _TICKS_PER_S


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def exit_on_sigterm() -> None:
    """Make SIGTERM raise an exception in this process, so that the servers that it started are stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
