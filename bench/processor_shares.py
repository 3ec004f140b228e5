"""Holding a server to a share of a processor by a Linux control group.

For measurements of several servers on a machine with fewer cores than servers. It needs root. Not here: which cores
a process runs on (`cores`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.failure import BenchFailure
from bench.processes import family

PERIOD_US: Final = 5_000
"""The share is used up and given anew in each period. A server that has used it up waits for the next."""

_V1, _V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


@contextmanager
def held_to(share: float | None, pid: int) -> Iterator[None]:
    """Hold the process and its descendants to this share of a processor; None: to no share. Raises BenchFailure."""
    if share is None:
        yield
        return
    is_v2 = (_V2 / "cgroup.controllers").exists()
    parent = _V2 if is_v2 else _V1
    group = parent / f"keystead-bench-{os.getpid()}-{pid}"
    quota_us = int(PERIOD_US * share)
    limits = {"cpu.max": f"{quota_us} {PERIOD_US}"}
    if not is_v2:
        limits = {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}
    pids = list(family(pid))
    try:
        group.mkdir()
        for name, value in limits.items():
            (group / name).write_text(value)
        for each in pids:
            (group / "cgroup.procs").write_text(str(each))
    except OSError as refused:
        raise BenchFailure(f"a server cannot be held to a share of a processor: {refused}") from None
    try:
        yield
    finally:
        for each in pids:
            (parent / "cgroup.procs").write_text(str(each))
        group.rmdir()
