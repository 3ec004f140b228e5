"""The lines of the log that are for people."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

from keystead.server.logs import RequestLine
from keystead.server.pretty_logs import PrettyFormatter, line_writer, pretty_line

CASES: list[tuple[dict[str, Any], str]] = [
    ({}, "200      3 ms  query/whoami"),
    ({"activity_id": "id"}, "200      3 ms  query/whoami  activity id"),
    ({"status": 401, "error": "no stamp"}, "401      3 ms  query/whoami  no stamp"),
    ({"method": "GET", "path": "/healthz"}, "200      3 ms  GET /healthz"),
    ({"ms": 12_345.6}, "200  12346 ms  query/whoami"),
    ({"path": "/\x1b[2J", "method": "G\r\n"}, r"200      3 ms  G\r\n /\x1b[2J"),
    ({"error": "a\u202eb\n"}, r"200      3 ms  query/whoami  a\u202eb\n"),
]


@pytest.mark.parametrize(("members", "expected"), CASES)
def test_requests(members: dict[str, Any], expected: str) -> None:
    standard = {"time": "", "request_id": "", "client": "", "method": "POST", "path": "/public/v1/query/whoami"}
    line = pretty_line(RequestLine(**{**standard, "status": 200, "ms": 3.2, **members})).decode()
    assert re.fullmatch(r"\d\d:\d\d:\d\d  ", line[:10])
    assert line[10:] == f"{expected}\n"


@pytest.mark.parametrize(
    ("method", "path", "status", "has_line"),
    [
        ("GET", "/console/js/main.js", 200, False),
        ("GET", "/console/js/main.js", 304, False),
        ("GET", "/console/js/missing.js", 404, True),
        ("GET", "/dev/v1/requests", 200, False),
        ("GET", "/dev/v1/requests", 403, True),
        ("POST", "/dev/v1/clock", 200, True),
        ("GET", "/healthz", 200, True),
        ("POST", "/public/v1/query/whoami", 200, True),
    ],
)
def test_requests_that_a_page_sends_by_itself(method: str, path: str, status: int, has_line: bool) -> None:
    line = RequestLine(time="", request_id="", client="", method=method, path=path, status=status)
    assert bool(line_writer("pretty")(line)) is has_line
    assert line_writer("json")(line)


@pytest.mark.parametrize(("status", "colour"), [(200, 32), (404, 33), (503, 31)])
def test_colours(status: int, colour: int) -> None:
    line = RequestLine(time="", request_id="", client="", method="POST", path="/x", status=status)
    assert f"\033[{colour}m{status}\033[0m" in pretty_line(line, in_colour=True).decode()


def test_events() -> None:
    record = logging.makeLogRecord({"levelname": "WARNING", "msg": "no %s", "args": ("\x1b",)})
    assert re.fullmatch(r"\d\d:\d\d:\d\d  warning: no \\x1b", PrettyFormatter().format(record))
