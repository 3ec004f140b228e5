"""Logs on standard error: by default one JSON object per line. Every line about a request has its id.

Nothing secret is logged: no body, no stamp, no key, and no message of an exception that nobody expected. Not here:
which events are logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from keystead.api.rendering import rfc3339
from keystead.failures.defects import TRACEBACK, traceback_of

logger = logging.getLogger("keystead")

_encoder = msgspec.json.Encoder()
_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "color_message"}


class JsonFormatter(logging.Formatter):
    """Time, level, event, then the fields given as `extra`; the types and places of exceptions."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": rfc3339(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line.update((key, value) for key, value in vars(record).items() if key not in _STANDARD_FIELDS)
        if traceback := logged_traceback(record):
            line[TRACEBACK] = traceback
        return _encoder.encode(line).decode()


def logged_traceback(record: logging.LogRecord) -> str:
    """The types and places of the exceptions of a record, without messages; "" if it has none. Libraries log
    exceptions themselves."""
    if record.exc_info and record.exc_info[1] is not None:
        return traceback_of(record.exc_info[1])
    return str(getattr(record, TRACEBACK, ""))


def configure(level: str, formatter: logging.Formatter | None = None) -> None:
    """Write the log of this process, libraries included, to standard error: as JSON lines unless told otherwise."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter or JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.raiseExceptions = False  # otherwise logging reports a closed pipe on standard error


class RequestLine(msgspec.Struct, kw_only=True):
    """The log line of one request. Its fields are set as they become known. `ms`: how long the answer took.

    `client`: the caller's address; the address of a proxy if the proxy is not trusted or does not name the caller.
    """

    time: str
    level: str = "info"
    event: str = "request"
    request_id: str
    client: str
    method: str
    path: str
    status: int = 0
    ms: float = 0.0
    organization_id: str = ""
    user_id: str = ""
    activity_id: str = ""
    error: str = ""


def json_line(line: RequestLine) -> bytes:
    return _encoder.encode(line) + b"\n"


class DatabaseLog:
    """One line when the database fails a request, one when it works again: after something was written. A database
    with a full disk answers every read.

    `has_failed`: it does not work since. `transactions`: how many transactions this process has committed."""

    def __init__(self) -> None:
        self.has_failed = False
        self._failed_after = 0

    def failed(self, message: str, transactions: int) -> None:
        """A request failed because of the database."""
        if not self.has_failed:
            self.has_failed = True
            logger.error("the database failed a request: %s", message)
        self._failed_after = transactions

    def answered(self, transactions: int) -> None:
        """A request was answered."""
        if self.has_failed and transactions > self._failed_after:
            self.has_failed = False
            logger.warning("the database works again")


class RequestLog:
    """Writes the lines of answered requests without `logging`, whose records would cost more than the rest of a
    query.

    Lines of one iteration of the event loop are written together. `encode` makes the bytes of a line. Belongs to
    one event loop.
    """

    def __init__(self, encode: Callable[[RequestLine], bytes]) -> None:
        self._encode = encode
        self._lines: list[bytes] = []

    def add(self, line: RequestLine) -> None:
        """Add a line. A line that cannot be written (full disk, closed pipe) is lost; its request is still
        answered."""
        if not self._lines:
            asyncio.get_running_loop().call_soon(self._write)
        self._lines.append(self._encode(line))

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        with contextlib.suppress(OSError):
            sys.stderr.buffer.write(b"".join(lines))
            sys.stderr.buffer.flush()
