"""The shared memory of rate limits: several processes count together, and one that ends or stops harms no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from keystead.server.limits import rate_table
from keystead.server.limits.rate_limits import RateLimit, RateLimited
from keystead.server.limits.rate_table import RateTable, new_shared_file
from tests.support.hanging import not_hanging

PER_SECOND = 2_000
KEY = "organization"

SPENDING = f"""
import sys
from keystead.server.limits.rate_limits import RateLimit, RateLimited
from keystead.server.limits.rate_table import RateTable
limit = RateLimit("organization", {PER_SECOND}, RateTable(int(sys.argv[1])))
print("ready", flush=True)
sys.stdin.readline()
accepted = 0
try:
    while True:
        limit.spend("{KEY}", 1_000.0)
        accepted += 1
except RateLimited:
    print(accepted, flush=True)
"""

HOLDING = f"""
import sys, time
from keystead.server.limits.rate_table import RateTable
with RateTable(int(sys.argv[1])).slot("organization {KEY}"):
    print("ready", flush=True)
    time.sleep(600)
"""


@contextmanager
def running(program: str, file: int) -> Iterator[subprocess.Popen[str]]:
    """A process that has the shared memory, once it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[file],
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def spent(limit: RateLimit, now_s: float, key: str = KEY) -> int:
    """How many requests are accepted at this moment, until one is refused."""
    accepted = 0
    while True:
        try:
            limit.spend(key, now_s)
        except RateLimited:
            return accepted
        accepted += 1


@pytest.fixture
def file() -> int:
    return new_shared_file()


def test_processes_count_together(file: int) -> None:
    """To the last request, unless this machine leaves one of them without a processor for long."""
    with running(SPENDING, file) as first, running(SPENDING, file) as second:
        accepted = 0
        for process in (first, second):
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in (first, second):
            assert process.stdout is not None
            accepted += int(process.stdout.readline())
    assert PER_SECOND <= accepted < 1.1 * PER_SECOND
    limit = RateLimit("organization", PER_SECOND, RateTable(file))
    assert spent(limit, 1_000.0) == 0
    assert spent(limit, 1_000.5) == PER_SECOND // 2


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_ends_or_stops_with_the_lock(how: signal.Signals, file: int) -> None:
    with running(HOLDING, file) as holder, not_hanging():
        os.kill(holder.pid, how)
        if how is signal.SIGKILL:
            holder.wait()
        limit = RateLimit("organization", 5, RateTable(file))
        assert spent(limit, 1_000.0) == 5


def test_a_key_that_is_ahead_is_not_forgotten_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_table, "SETS", 1)
    limit = RateLimit("organization", 20, RateTable())
    assert spent(limit, 1_000.0) == 20
    for number in range(100):
        limit.spend(f"other {number}", 1_000.0)
    assert spent(limit, 1_000.0) == 0


def test_two_limits_of_one_name_do_not_mix() -> None:
    table = RateTable()
    for name in ("organization", "credential"):
        assert spent(RateLimit(name, 5, table), 1_000.0) == 5


@pytest.mark.parametrize(("per_second", "waiting_s"), [(1, 1), (2, 1), (3, 1), (7, 1), (1_000, 1)])
def test_a_caller_that_waits_as_it_is_told_is_served(per_second: int, waiting_s: int) -> None:
    limit = RateLimit("organization", per_second, RateTable())
    now_s = 1_000.1
    for _ in range(5):
        spent(limit, now_s)
        with pytest.raises(RateLimited) as refused:
            limit.check(KEY, now_s)
        assert refused.value.retry_after_s == waiting_s
        now_s += refused.value.retry_after_s
        limit.check(KEY, now_s)
