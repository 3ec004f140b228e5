"""The measured server: `keystead serve` in its own processes, with default settings.

Here: starting, pinning and stopping, also for the server to compare with. Its log, a line for each request, goes
to a file, as in production. Its signer is a child process, and therefore on the same cores.
"""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bench.cores import pinned
from bench.failure import BenchFailure
from bench.processes import family, peak_bytes

KEYSTEAD = Path(sys.executable).parent / "keystead"

_START_LIMIT_S = 30.0
_STOP_LIMIT_S = 15.0


class Server(msgspec.Struct, frozen=True):
    port: int
    pid: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def peak_bytes(self) -> int:
        """The sum of the peaks of its processes' resident memory (VmHWM)."""
        return sum(peak_bytes(pid) for pid in family(self.pid))


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with these KEYSTEAD_… variables and no others."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("KEYSTEAD_")}
    return {**others, **settings}


@contextmanager
def running(settings: Mapping[str, str], folder: Path, cores: Set[int]) -> Iterator[Server]:
    """Run a server with these KEYSTEAD_… variables on these cores. It is ready to answer. Raises BenchFailure."""
    port = free_port()
    variables = environment({**settings, "KEYSTEAD_PORT": str(port)})
    with running_command([KEYSTEAD, "serve"], variables, port, "/readyz", folder / "server.log", cores) as server:
        yield server


@contextmanager
def running_command(
    command: Sequence[str | Path],
    variables: Mapping[str, str],
    port: int,
    ready_path: str,
    log: Path,
    cores: Set[int],
) -> Iterator[Server]:
    """Run a command that serves on this port, and wait until it answers a GET of this path. Raises
    BenchFailure."""
    with log.open("wb") as written, pinned(cores):
        process = subprocess.Popen(
            command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=written
        )
    try:
        _await_ready(process, port, ready_path, log)
        yield Server(port, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_ready(process: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    deadline = time.monotonic() + _START_LIMIT_S
    while not _is_ready(port, path):
        if process.poll() is not None or time.monotonic() > deadline:
            raise BenchFailure(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def _is_ready(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
