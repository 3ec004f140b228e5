"""A benchmark ended by SIGTERM stops the servers that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.processes import family
from tests.support.hanging import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

ROOT = Path(__file__).parents[2]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_signer(pid: int) -> bool:
    try:
        return b"keystead.signer.process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_its_servers_end() -> None:
    command = [sys.executable, "-m", "bench", "--quick", "--store", "sqlite", "--only", "list_wallets"]
    bench = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_S
    while not any(map(is_signer, started := list(family(bench.pid)))):  # the last process that is started
        assert bench.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(bench.pid, signal.SIGTERM)
    assert bench.wait(PATIENCE_S) == 128 + signal.SIGTERM
    while any(map(is_running, started)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
