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

from keystead.keys.master_key import MasterKeyError
from keystead.keys.master_key_source import MasterKeySources
from keystead.signer.startup import Orders, Ready

logger = logging.getLogger("keystead")

_BACKLOG = 1_024
_END_LIMIT_S: Final = 5.0
_PAUSE_S: Final = 1.0
"""How long a signer that does not come up is let be before the next try."""


class SignerProcess:
    """The signer, running between `__enter__` and `__exit__`. `path`: its socket, in a folder of its own.

    Its start takes a while, in which there is other work to do: `wait_until_ready` is called when that is done.
    """

    def __init__(self, sources: MasterKeySources) -> None:
        self._sources = sources
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._watch = threading.Thread(target=self._keep_alive, name="signer-watch", daemon=True)

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="keystead-"))  # mode 0700
        self.path = self._folder / "signer"
        try:
            self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listener.bind(str(self.path))
            self._listener.listen(_BACKLOG)
            self._process = self._begun()
        except BaseException:
            self._tidy()
            raise
        return self

    def wait_until_ready(self) -> None:
        """Once. Raises MasterKeyError if a master key cannot be had, with the signer's reason or ours."""
        assert self._process is not None
        _require_ready(self._process)
        self._watch.start()

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._stopping.set()
        assert self._process is not None
        if self._watch.ident is None:  # nobody waited for it to be ready
            _end(self._process)
        else:
            _hang_up(self._process)
            self._watch.join(_END_LIMIT_S)
            if self._watch.is_alive():  # it hangs, and there is nothing in it to save
                self._process.kill()
            self._watch.join()
        self._tidy()

    def _tidy(self) -> None:
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begun(self) -> subprocess.Popen[bytes]:
        """A process that has its orders."""
        process = subprocess.Popen(
            [sys.executable, "-m", "keystead.signer.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[self._listener.fileno()],
            env={name: value for name, value in os.environ.items() if not name.startswith("KEYSTEAD_")},
        )
        assert process.stdin is not None
        orders = Orders(sources=self._sources, listener=self._listener.fileno(), service=os.getpid())
        with contextlib.suppress(BrokenPipeError):  # it is dead already, which is found out when it should be ready
            process.stdin.write(msgspec.json.encode(orders) + b"\n")
            process.stdin.flush()
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
                    self._process = process = self._begun()
                    _require_ready(process)
                    break
                except MasterKeyError as refused:
                    logger.error("the signer does not start: %s", refused)  # noqa: TRY400 - one line says it all
                    self._stopping.wait(_PAUSE_S)
            if self._stopping.is_set():  # it came up while the service went down
                _hang_up(process)
                process.wait()


def _require_ready(process: subprocess.Popen[bytes]) -> None:
    """Wait for its word. Raises MasterKeyError, with its reason or ours, and then it has ended."""
    assert process.stdout is not None
    try:
        ready = msgspec.json.decode(process.stdout.readline(), type=Ready)
    except (OSError, msgspec.MsgspecError):
        ready = Ready(failure="the signer's process ended before it was ready")
    process.stdout.close()
    if ready.failure:
        _end(process)
        raise MasterKeyError(ready.failure)
    logger.info("the signer is ready; it gave up: %s", ", ".join(ready.confined) or "nothing")


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    """Its standard input ends, and so will it."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    _hang_up(process)
