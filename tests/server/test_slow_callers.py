"""Callers that send slowly, endlessly or nothing: they get an error or are disconnected; others are served
meanwhile."""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.conftest import MakeDatabase
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Server, bootstrap_installation, running

pytestmark = pytest.mark.one_engine

HEAD = b"POST /public/v1/query/whoami HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def impatient(make_sqlite: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that waits for nothing longer than a second."""
    installation = bootstrap_installation(make_sqlite())
    settings = {"header_timeout_s": 1, "body_timeout_s": 1, "idle_timeout_s": 1}
    with running(installation, tmp_path_factory.mktemp("impatient") / "log", settings) as server:
        yield server
    installation.database.close()


class Case(NamedTuple):
    """`first` is sent at once, `then` again and again; `answer` is how what comes back begins."""

    name: str
    first: bytes
    then: Callable[[], bytes]
    answer: bytes


def pause(then: bytes) -> Callable[[], bytes]:
    def sender() -> bytes:
        time.sleep(0.05)
        return then

    return sender


# A connection kept between two requests might be closed as idle at the instant of the second.
ALONE = {"Connection": "close"}

TIMEOUT, TOO_LARGE, HEADERS_TOO_LARGE = b"HTTP/1.1 408 ", b"HTTP/1.1 413 ", b"HTTP/1.1 431 "
CASES = [
    Case("sends nothing", b"", pause(b""), b""),
    Case("stops in the first line", b"POST /pub", pause(b""), TIMEOUT),
    Case("stops in the headers", HEAD, pause(b""), TIMEOUT),
    Case("drips headers", HEAD, pause(b"X: y\r\n"), TIMEOUT),
    Case("headers without end", HEAD, lambda: b"X: y\r\n" * 1000, HEADERS_TOO_LARGE),
    Case("one header without end", HEAD + b"X: ", lambda: b"y" * 10_000, HEADERS_TOO_LARGE),
    Case("stops in the body", HEAD + b"Content-Length: 9\r\n\r\n{", pause(b""), TIMEOUT),
    Case("drips the body", HEAD + b"Content-Length: 1000000\r\n\r\n", pause(b"{"), TIMEOUT),
    Case("stops between chunks", CHUNKED + b"1\r\n{\r\n", pause(b""), TIMEOUT),
    Case("drips chunks", CHUNKED, pause(b"1\r\n{\r\n"), TIMEOUT),
    Case("chunks without end", CHUNKED, lambda: b"2710\r\n" + b"x" * 10_000 + b"\r\n", TOO_LARGE),
    Case("a chunk's extension without end", CHUNKED + b"1;x=", lambda: b"y" * 10_000, HEADERS_TOO_LARGE),
    Case("one trailer without end", CHUNKED + b"0\r\nX:", lambda: b"y" * 10_000, HEADERS_TOO_LARGE),
    Case("trailers without end", CHUNKED + b"0\r\n", lambda: b"X: y\r\n" * 1000, HEADERS_TOO_LARGE),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_slow_caller(case: Case, impatient: Server) -> None:
    with socket.create_connection(("127.0.0.1", impatient.port), timeout=PATIENCE_S) as connection:
        connection.sendall(case.first)
        sending = threading.Thread(target=_send_until_refused, args=(connection, case.then), daemon=True)
        sending.start()
        assert impatient.caller.ask("whoami", ALONE).status_code == 200
        assert _received(connection).startswith(case.answer)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        sending.join()
    assert impatient.caller.ask("whoami", ALONE).status_code == 200


def _send_until_refused(connection: socket.socket, then: Callable[[], bytes]) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(then())


def _received(connection: socket.socket) -> bytes:
    """What comes back until the server closes."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(65_536):
            received += chunk
    return received


def test_leaves_in_the_middle_of_a_body(impatient: Server) -> None:
    with socket.create_connection(("127.0.0.1", impatient.port)) as connection:
        connection.sendall(HEAD + b"Content-Length: 9\r\n\r\n{")
    assert impatient.caller.ask("whoami", ALONE).status_code == 200
    assert all(line["level"] == "info" for line in impatient.log_lines())


def test_a_thousand_idle_connections(sqlite_server: Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1500) if hard < 0 else min(max(soft, 1500), hard), hard))
    with contextlib.ExitStack() as idle:
        for _ in range(1000):
            idle.enter_context(socket.create_connection(("127.0.0.1", sqlite_server.port)))
        caller = sqlite_server.caller
        assert caller.asked("whoami")["userId"] == caller.user_id
        caller.submitted("create_user_tag", {"userTagName": "among a thousand", "userIds": []})
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
