"""Pins processes to cores, and describes this machine. Linux only."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from bench.failure import BenchFailure

_SYNCS = 200


class Cores(msgspec.Struct, frozen=True):
    """`server` is for the server under test alone; `load` for the load generator and the database server."""

    server: int
    load: int
    all: frozenset[int]


def cores_here() -> Cores:
    """Choose the cores. Raises BenchFailure unless there are two."""
    if not hasattr(os, "sched_getaffinity"):
        raise BenchFailure("the benchmarks run on Linux only: they pin processes to cores")
    available = sorted(os.sched_getaffinity(0))
    if len(available) < 2:
        raise BenchFailure("the benchmarks need two cores: one for the server, one for the load generator")
    return Cores(server=available[0], load=available[1], all=frozenset(available))


@contextmanager
def pinned(cores: Set[int]) -> Iterator[None]:
    """Pin this process to these cores for the block. Processes that it starts in the block stay on them."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def machine() -> dict[str, str]:
    """A description of the machine and the packages on which the figures depend."""
    packages = (
        "uvloop",
        "httptools",
        "msgspec",
        "cryptography",
        "btclib-libsecp256k1",
        "asyncpg",
        "moto",
    )
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "kernel": f"Linux {platform.release()}",
        "python": platform.python_version(),
        "packages": ", ".join(f"{package} {_version(package)}" for package in packages),
        "file system": f"{_file_system(Path(tempfile.gettempdir()))}, a 4 kB fdatasync takes {_sync_us():.0f} us",
    }


def _version(package: str) -> str:
    """The installed version. moto is missing if only the packages of the tests are installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    pairs = [line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    facts = {name.strip(): value.strip() for name, value in pairs}
    if "model name" not in facts:
        return platform.machine()
    return f"{facts['model name']} (family {facts.get('cpu family')}, model {facts.get('model')})"


def _file_system(folder: Path) -> str:
    """The type of the file system with the databases. On tmpfs nothing is durable."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    above = {str(parent) for parent in (folder.resolve(), *folder.resolve().parents)}
    return max((mount for mount in mounts if mount[0] in above), key=lambda mount: len(mount[0]))[1]


def _sync_us() -> float:
    """The median time to append 4 kB durably, in microseconds: the least time of a durable write."""
    with tempfile.TemporaryFile(buffering=0) as file:
        times = []
        for _ in range(_SYNCS):
            file.write(bytes(4096))
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6
