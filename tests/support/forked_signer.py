"""The signer of a forked server, forked too: loading is most of what its start costs.

Here: what takes the place of `signer.supervision.new_process`. Only the first start of a server is a fork. A signer
that died is started by its program, as `keystead serve` does: a process with threads and a loop cannot be forked
safely. Not here: the forked server (`fork_server`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from typing import BinaryIO

from keystead.signer import process, supervision

NAME = "keystead.signer"
"""The name of the forked process, as /proc/PID/comm shows it. The process keeps the command line of the server."""

_new_process = supervision.new_process
_forked = False


class ForkedSigner:
    """The part of `subprocess.Popen` that the supervision needs."""

    def __init__(self, pid: int, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self.returncode: int | None = None

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def load() -> None:
    """Load what a signer needs. A process that is forked from this one then forks its first signer."""
    process.load_everything()
    supervision.new_process = _first_by_fork  # type: ignore[assignment]


def _first_by_fork(connector: int, environment: Mapping[str, str]) -> ForkedSigner | subprocess.Popen[bytes]:
    global _forked
    if _forked or threading.active_count() > 1:
        return _new_process(connector, environment)
    _forked = True
    its_input, ours_to_write = os.pipe()
    ours_to_read, its_output = os.pipe()
    if (pid := os.fork()) == 0:
        _become_signer(connector, environment, its_input, its_output)
    os.close(its_input)
    os.close(its_output)
    return ForkedSigner(pid, os.fdopen(ours_to_write, "wb"), os.fdopen(ours_to_read, "rb"))


def _become_signer(connector: int, environment: Mapping[str, str], stdin: int, stdout: int) -> None:
    try:
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        os.closerange(3, connector)
        os.closerange(connector + 1, 256)
        os.environ.clear()
        os.environ.update(environment)
        with open("/proc/self/comm", "w") as name:
            name.write(NAME)
        process.main()
    finally:
        os._exit(1)
