"""Starts the signer's process, and starts it again when it dies; the socket outlives it.

The socket is made here and handed down, so that whoever connects while the signer starts waits and is not refused.
Not here: what the process does (`process`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from keystead.keys.custody import Custody
from keystead.keys.master_key import MasterKeyError
from keystead.vault.process import Orders, Ready

logger = logging.getLogger("keystead")

_BACKLOG = 1_024
_END_LIMIT_S: Final = 5.0
_PAUSE_S: Final = 1.0
"""How long a signer that does not come up is let be before the next try."""


class SignerProcess:
    """The signer, running between `__enter__` and `__exit__`. `path`: its socket, in a folder of its own."""

    def __init__(self, custody: Custody) -> None:
        self._custody = custody
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._watch = threading.Thread(target=self._keep_alive, name="signer-watch", daemon=True)

    def __enter__(self) -> Self:
        """Raises MasterKeyError if a master key cannot be had."""
        self._folder = Path(tempfile.mkdtemp(prefix="keystead-"))  # mode 0700
        self.path = self._folder / "signer"
        try:
            self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listener.bind(str(self.path))
            self._listener.listen(_BACKLOG)
            self._process = self._started()
        except BaseException:
            self._tidy()
            raise
        self._watch.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._stopping.set()
        if self._process is not None:
            _hang_up(self._process)
            self._watch.join(_END_LIMIT_S)
            if self._watch.is_alive():  # it hangs, and there is nothing in it to save
                self._process.kill()
        self._watch.join()
        self._tidy()

    def _tidy(self) -> None:
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _started(self) -> subprocess.Popen[bytes]:
        """A process that says it is ready. Raises MasterKeyError, with its reason or ours."""
        process = subprocess.Popen(
            [sys.executable, "-m", "keystead.vault.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[self._listener.fileno()],
            env={name: value for name, value in os.environ.items() if not name.startswith("KEYSTEAD_")},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        orders = Orders(custody=self._custody, listener=self._listener.fileno(), service=os.getpid())
        try:
            process.stdin.write(msgspec.json.encode(orders) + b"\n")
            process.stdin.flush()
            ready = msgspec.json.decode(process.stdout.readline(), type=Ready)
        except (OSError, msgspec.MsgspecError):
            ready = Ready(failure="the signer's process ended before it was ready")
        process.stdout.close()
        if ready.failure:
            _end(process)
            raise MasterKeyError(ready.failure)
        logger.info("the signer is ready; it gave up: %s", ", ".join(ready.confined) or "nothing")
        return process

    def _keep_alive(self) -> None:
        while True:
            process = self._process
            assert process is not None
            process.wait()
            _hang_up(process)
            if self._stopping.is_set():
                return
            logger.error("the signer died (%s) and is started again", process.returncode)
            while not self._stopping.is_set():
                try:
                    self._process = process = self._started()
                    break
                except MasterKeyError as refused:
                    logger.error("the signer does not start: %s", refused)  # noqa: TRY400 - one line says it all
                    self._stopping.wait(_PAUSE_S)
            if self._stopping.is_set():  # it came up while the service went down
                _hang_up(process)
                process.wait()


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    """Its standard input ends, and so will it."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    _hang_up(process)
