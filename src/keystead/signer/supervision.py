"""Starts the signer's process, and starts it again when it dies. The connector stays the same.

Therefore a server that connects while the signer starts waits and is not refused. Not here: what the process does
(`process`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

import msgspec

from keystead.keys.master_key_source import MasterKeySources
from keystead.keys.secret_files import MasterKeyError
from keystead.signer.connector import connector_pair
from keystead.signer.startup import StartReply, StartRequest

logger = logging.getLogger("keystead")

_END_LIMIT_S: Final = 5.0
_PAUSE_S: Final = 1.0
"""The time between two attempts to start the signer, in seconds."""


class SignerProcess:
    """The signer, running between `__enter__` and `__exit__`.

    `restarts` counts the starts after the first.

    `connector` is the end for the server processes; a child that connects must inherit it. The start takes some
    time, so `__enter__` only begins it; call `wait_until_ready` after other work.
    """

    def __init__(self, sources: MasterKeySources) -> None:
        self._sources = sources
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self.restarts = 0
        self._watch = threading.Thread(target=self._keep_alive, name="signer-watch", daemon=True)

    def __enter__(self) -> Self:
        self.connector, self._signers_end = connector_pair()
        try:
            self._process = self._start_process()
        except BaseException:
            self._close_connector()
            raise
        return self

    @property
    def pid(self) -> int:
        """The id of the process that runs, or that ended last."""
        assert self._process is not None
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Wait until the signer is ready. Call it once. Raises MasterKeyError with the reason if a master key
        cannot be opened."""
        assert self._process is not None
        _require_ready(self._process)
        self._watch.start()

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._stopping.set()
        assert self._process is not None
        if self._watch.ident is None:  # `wait_until_ready` was not called, or raised
            _kill(self._process)
        else:
            _close_stdin(self._process)
            self._watch.join(_END_LIMIT_S)
            if self._watch.is_alive():  # the process hangs, and has nothing to save
                self._process.kill()
            self._watch.join()
        self._close_connector()

    def _close_connector(self) -> None:
        self.connector.close()
        self._signers_end.close()

    def _start_process(self) -> subprocess.Popen[bytes]:
        """Start the process and send it its configuration."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KEYSTEAD_")}
        process = new_process(self._signers_end.fileno(), environment)
        assert process.stdin is not None
        request = StartRequest(sources=self._sources, connector=self._signers_end.fileno())
        with contextlib.suppress(BrokenPipeError):  # the process has ended already; `_require_ready` reports that
            process.stdin.write(msgspec.json.encode(request) + b"\n")
            process.stdin.flush()
        return process

    def _keep_alive(self) -> None:
        while True:
            process = self._process
            assert process is not None
            process.wait()
            _close_stdin(process)
            if self._stopping.is_set():
                return
            logger.error("the signer died (%s) and is started again", process.returncode)
            while not self._stopping.is_set():
                try:
                    self.restarts += 1
                    self._process = process = self._start_process()
                    _require_ready(process)
                    break
                except MasterKeyError as refused:
                    logger.error("the signer does not start: %s", refused)  # noqa: TRY400 - one line says it all
                    self._stopping.wait(_PAUSE_S)
            if self._stopping.is_set():  # it became ready while the service was stopping
                _close_stdin(process)
                process.wait()


def new_process(connector: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A signer that waits for its configuration. It inherits the socket with the file descriptor `connector`."""
    return subprocess.Popen(
        [sys.executable, "-m", "keystead.signer.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[connector],
        env=environment,
    )


def _require_ready(process: subprocess.Popen[bytes]) -> None:
    """Wait for the reply of the process. Raises MasterKeyError with the reason; then the process has ended."""
    assert process.stdout is not None
    try:
        reply = msgspec.json.decode(process.stdout.readline(), type=StartReply)
    except (OSError, msgspec.MsgspecError):
        reply = StartReply(failure="the signer's process ended before it was ready")
    process.stdout.close()
    if reply.failure:
        _kill(process)
        raise MasterKeyError(reply.failure)
    logger.info("the signer is ready; it gave up: %s", ", ".join(reply.confined) or "nothing")


def _close_stdin(process: subprocess.Popen[bytes]) -> None:
    """Close the standard input of the signer, which ends it."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    _close_stdin(process)
