"""Logs for people: one short line for each request and event.

Requests that a page of the console sends by itself are left out. Not here: what is logged, JSON lines (`logs`).
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable

from keystead.server.console.files import is_console
from keystead.server.development.access import is_control
from keystead.server.logs import JsonFormatter, RequestLine, json_line, logged_traceback
from keystead.server.settings.settings import LogFormat

_RED, _YELLOW, _GREEN, _DIM, _PLAIN = "\033[31m", "\033[33m", "\033[32m", "\033[2m", "\033[0m"


class PrettyFormatter(logging.Formatter):
    """Time, level, event; below it the types and places of exceptions."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{_clock(record.created)}  {record.levelname.lower()}: {_printable(record.getMessage())}"
        traceback = logged_traceback(record)
        return f"{line}\n{traceback}" if traceback else line


def pretty_line(line: RequestLine, *, in_colour: bool = False) -> bytes:
    """A line such as `14:03:22  200    3 ms  submit/create_wallet  activity 0199…`. A refusal has its reason at the
    end."""
    path = _printable(line.path.removeprefix("/public/v1/"))
    status = str(line.status)
    if in_colour:
        colour = _GREEN if line.status < 400 else _YELLOW if line.status < 500 else _RED
        status = f"{colour}{status}{_PLAIN}"
    method = "" if line.method == "POST" else f"{_printable(line.method)} "
    detail = line.error or (f"activity {line.activity_id}" if line.activity_id else "")
    detail = _printable(detail)
    if in_colour and not line.error:
        detail = f"{_DIM}{detail}{_PLAIN}"
    text = f"{_clock(time.time())}  {status}  {line.ms:5.0f} ms  {method}{path}"
    return f"{text}  {detail}\n".encode() if detail else f"{text}\n".encode()


def line_writer(log_format: LogFormat) -> Callable[[RequestLine], bytes]:
    """The function that makes the log line of a request. On a terminal it uses colours, unless NO_COLOR is set."""
    if log_format == "json":
        return json_line
    in_colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    return lambda line: b"" if _is_sent_by_a_page(line) else pretty_line(line, in_colour=in_colour)


def _is_sent_by_a_page(line: RequestLine) -> bool:
    """Whether a page of the console sends such a request by itself, dozens at once or every second, and it
    succeeded."""
    return line.method == "GET" and line.status < 400 and (is_console(line.path) or is_control(line.path))


def formatter(log_format: LogFormat) -> logging.Formatter:
    """The formatter of log lines about other events."""
    return JsonFormatter() if log_format == "json" else PrettyFormatter()


def _clock(epoch_s: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(epoch_s))


def _printable(text: str) -> str:
    """The text with escaped control characters, so that a caller's text cannot control the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )
