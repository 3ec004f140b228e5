"""Serves in several processes that share the sockets. A process that ends is started again.

Here: starting and ending processes, and their main function. Not here: serving in one process (`run`).
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final

from keystead.server import logs
from keystead.server.limits.rate_table import RateTable, new_shared_file
from keystead.server.logs import logger
from keystead.server.metrics.serving import forget_process
from keystead.server.opening import NotReady
from keystead.server.pretty_logs import formatter
from keystead.server.run import serve_here
from keystead.server.settings.settings import SECRET_NAMES, Settings, SettingsError, from_environment
from keystead.signer import confinement
from keystead.signer.connector import inherited
from keystead.storage.open import sqlite_path

_CHECK_PERIOD_S: Final = 0.5
"""Seconds between two checks of the processes."""
PAUSE_S: Final = 2.0
"""The least time between two starts of a process."""
_END_GRACE_S: Final = 5.0
"""A process is killed this many seconds after its time to stop has ended. Longer than `delivery.stopping.FINISH_S`:
before its end a process finishes its deliveries and gives leases back."""


def check_workers(settings: Settings) -> None:
    """Raise SettingsError if several processes are to serve a SQLite file. Only one process at a time can write to
    it, so they would be slower than one."""
    if settings.workers > 1 and sqlite_path(settings.database_url) is not None:
        raise SettingsError(
            f"--workers (KEYSTEAD_WORKERS) is {settings.workers}, but only one process can serve a SQLite file: "
            "only one at a time can write to it. Set it to 1, or use keystead serve with a PostgreSQL database "
            "(--database-url, KEYSTEAD_DATABASE_URL)"
        )


class _Worker:
    """One process, and the processes that replace it."""

    def __init__(self, command: list[str], descriptors: Sequence[int]) -> None:
        self._command = command
        self._descriptors = descriptors
        self._start()

    def _start(self) -> None:
        self._started_s = time.monotonic()
        self._process = subprocess.Popen(  # noqa: S603 - this very program
            self._command, stdin=subprocess.DEVNULL, pass_fds=self._descriptors
        )

    def start_again_if_ended(self) -> None:
        code = self._process.poll()
        if code is not None and time.monotonic() - self._started_s >= PAUSE_S:
            logger.error("worker process %d ended with %d and is started again", self._process.pid, code)
            forget_process(self._process.pid)
            self._start()

    def load_certificate_again(self) -> None:
        self._process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        self._process.terminate()

    def wait(self, timeout_s: float) -> None:
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            logger.error("worker process %d does not stop and is killed", self._process.pid)
            self._process.kill()
            self._process.wait()


def serve_in_workers(settings: Settings, sockets: Sequence[socket.socket], connector: socket.socket) -> None:
    """Serve in `settings.workers` processes until SIGTERM or SIGINT.

    They read their settings from the environment, from which secrets are removed, and inherit the sockets, the
    connector to the signer (`signer.connector`) and the memory in which they count requests (`rate_table`).
    """
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    for name in SECRET_NAMES:
        os.environ.pop(name, None)
    descriptors = [connector.fileno(), new_shared_file(), *(listener.fileno() for listener in sockets)]
    command = [sys.executable, "-m", "keystead.server.workers", str(os.getpid()), *map(str, descriptors)]
    workers = [_Worker(command, descriptors) for _ in range(settings.workers)]
    if settings.tls_cert:

        def load_certificate_again(_number: int, _frame: object) -> None:
            for worker in workers:
                worker.load_certificate_again()

        signal.signal(signal.SIGHUP, load_certificate_again)
    while not stopping.wait(_CHECK_PERIOD_S):
        for worker in workers:
            worker.start_again_if_ended()
    for worker in workers:
        worker.stop()
    for worker in workers:
        worker.wait(settings.shutdown_timeout_s + _END_GRACE_S)


def main(arguments: Sequence[str]) -> int:
    """The main function of each process. `arguments`: the parent's process id; the numbers of the inherited
    descriptors: the connector, the memory for rate limits, the listening sockets. Returns the exit code."""
    parent, connector, rates, *listeners = map(int, arguments)
    confinement.keep_memory_private()
    confinement.die_with_parent(parent)
    try:
        settings = from_environment(os.environ)
        logs.configure(settings.log_level, formatter(settings.log_format))
        sockets = [inherited(number) for number in listeners]
        serve_here(settings, sockets, connector=inherited(connector), rates=RateTable(rates))
    except (NotReady, SettingsError) as refused:
        logger.error("%s", refused)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
