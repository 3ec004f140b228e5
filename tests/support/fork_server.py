"""A fork server for tests: it has loaded the server and the commands, and forks processes that need not load them.

Loading is most of the cost of a start. Here: `ForkedProcess`, and the fork server, one for each process that runs
tests. A forked process has its own environment, folder, session, output and exit code, and forks its first signer
(`forked_signer`). The fork server does not read the environment or the program of a forked process.

Not here: which program runs (`servers`, `commands`).
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_MODULES = (
    "keystead.server.console.logins",
    "keystead.server.metrics.serving",
    "keystead.server.run",
    "keystead.server.workers",
    "typer._adapters",  # with pydantic: typer loads it when it reads the words of a command
)
_SERVE_FORKS = "from tests.support.fork_server import serve_forks; exec(serve_forks())"


class ForkedProcess:
    """`program`, run as Python in a new process, whose output goes to the file `log`. The part of
    `subprocess.Popen` that tests need."""

    def __init__(
        self,
        program: str,
        environment: Mapping[str, str],
        log: Path,
        *,
        errors: Path | None = None,
        cwd: Path = _ROOT,
    ) -> None:
        """`errors`: where its errors go, if not to `log`."""
        self._code: int | None = None
        told = {
            "program": program,
            "environment": dict(environment),
            "outputs": [str(log), str(errors or log)],
            "cwd": str(cwd),
        }
        self.pid: int = _fork_server().ask("start", told)

    def poll(self) -> int | None:
        if self._code is None:
            self._code = _fork_server().ask("code", self.pid)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        deadline = time.monotonic() + (math.inf if timeout is None else timeout)
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            time.sleep(0.005)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


class _ForkServer:
    """The fork server, as the process that runs tests sees it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE_FORKS],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C meant for pytest must not stop the servers first
        )
        self._one_at_a_time = threading.Lock()

    def ask(self, question: str, told: object) -> Any:
        with self._one_at_a_time:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            for line in (question, json.dumps(told)):
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@functools.cache
def _fork_server() -> _ForkServer:
    made = _ForkServer()
    atexit.register(made.close)
    return made


def serve_forks() -> str:
    """The main function of the fork server. It loads the modules. Then it forks processes and reports their exit
    codes, as requests on standard input say.

    It returns only in forked processes: the program to run, which only the forked process reads.
    """
    commands = importlib.import_module("keystead.cli.main").COMMANDS.values()
    of_commands = [f"keystead.cli.{command.place.partition(':')[0]}" for command in commands]
    for module in (*_MODULES, *of_commands):
        importlib.import_module(module)
    importlib.import_module("tests.support.forked_signer").load()
    gc.collect()
    gc.freeze()
    while question := _line():
        if question == "code":
            ended, status = os.waitpid(json.loads(_line()), os.WNOHANG)
            _answer(os.waitstatus_to_exitcode(status) if ended else None)
            continue
        has_read, reads = os.pipe()
        if os.fork() == 0:
            return _detach(json.loads(_line()))
        os.close(reads)
        os.read(has_read, 1)
        os.close(has_read)
    os._exit(0)


def _detach(told: dict[str, Any]) -> str:
    """Make the forked process independent: with its own session, environment and output. Returns its program."""
    _answer(os.getpid())
    os.setsid()
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["cwd"])
    outputs = [os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644) for file in told["outputs"]]
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, of in enumerate((nothing, *outputs)):
        os.dup2(of, descriptor)
    os.closerange(3, 256)  # closing the pipe tells the fork server to continue
    program: str = told["program"]
    return program


def _line() -> str:
    """The next line of standard input. It reads no byte after the line."""
    line = b""
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode()


def _answer(answer: int | None) -> None:
    os.write(1, json.dumps(answer).encode() + b"\n")
