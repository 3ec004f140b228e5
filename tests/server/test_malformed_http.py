"""Bytes on a connection: malformed HTTP is refused with an error, and unusual framing of valid requests is
accepted."""

from __future__ import annotations

import itertools
import json
import re
import socket
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.support.callers import Caller
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Server

pytestmark = pytest.mark.one_engine


@pytest.fixture
def server(sqlite_server: Server) -> Server:
    """No database makes a difference here."""
    return sqlite_server


def raw(server: Server, *parts: bytes) -> bytes:
    """Everything that comes back for these bytes, until the server closes or has answered in full."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        for part in parts:
            connection.sendall(part)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
            head, end, body = answer.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            if end and length and len(body) >= int(length[1]):
                break
        return answer


class Malformed(NamedTuple):
    name: str
    request: bytes
    status: int = 400


HOST = b"Host: localhost\r\n"
MALFORMED = [
    Malformed("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    Malformed("unknown method", b"STEAL / HTTP/1.1\r\n" + HOST + b"\r\n"),
    Malformed("bytes beyond ASCII in the path", b"POST /\xff HTTP/1.1\r\n" + HOST + b"\r\n"),
    Malformed("a space in a header's name", b"POST / HTTP/1.1\r\nX Y: 1\r\n\r\n"),
    Malformed("length is not a number", b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: many\r\n\r\n"),
    Malformed("length is negative", b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n"),
    Malformed(
        "length is beyond all bounds", b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % 10**40
    ),
    Malformed("two lengths", b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
    Malformed(
        "a length and chunks",
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    Malformed("headers over the limit", b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 40_000 + b"\r\n\r\n", 431),
    Malformed("a path over the limit", b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 431),
    Malformed("headers without end", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000, 431),
    Malformed(
        "headers over the limit, and a body",
        b"POST / HTTP/1.1\r\nX: " + b"x" * 40_000 + b"\r\nContent-Length: 4\r\n\r\nbody",
        431,
    ),
]


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.name)
def test_malformed_http(case: Malformed, server: Server) -> None:
    head, _, body = raw(server, case.request).partition(b"\r\n\r\n")
    lines = head.decode().lower().split("\r\n")
    assert lines[0].startswith(f"http/1.1 {case.status} ")
    assert "content-type: application/json" in lines
    assert any(line.startswith("x-request-id: ") for line in lines)
    assert set(json.loads(body)) >= {"code", "message", "details"}


def framed(caller: Caller, *headers: bytes, body: bytes | None = None) -> bytes:
    """A good request as its bytes; `body` may frame it another way."""
    good = caller.query_body()
    stamp = "".join(f"{name}: {value}\r\n" for name, value in caller.stamped(good).items()).encode()
    length = b"" if body is not None else b"Content-Length: %d\r\n" % len(good)
    more = b"".join(header + b"\r\n" for header in headers)
    start = b"POST /public/v1/query/whoami HTTP/1.1\r\n"
    return start + HOST + stamp + length + more + b"\r\n" + (good if body is None else body)


@pytest.mark.parametrize("size", [1, 300, 10_000], ids="{} bytes at once".format)
def test_upgrade_offered_by_java_clients(size: int, caller: Caller, server: Server) -> None:
    offer = framed(caller, b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQ")
    assert caller.user_id.encode() in raw(server, *(offer[at : at + size] for at in range(0, len(offer), size)))


CUTS = [
    pytest.param(1, lambda head, length: [head], id="the head, then the body"),
    pytest.param(1, lambda head, length: [head + 1], id="the body begins with the head"),
    pytest.param(1, lambda head, length: [head, length - 1], id="a byte is late"),
    pytest.param(1, lambda head, length: [head - 1], id="a byte of the head is late"),
    pytest.param(1, lambda head, length: [10, head, head + 2, head + 3], id="in many pieces"),
    pytest.param(2, lambda head, length: [length + head], id="a request and the head of the next, then its body"),
    pytest.param(2, lambda head, length: [length + head + 3], id="a request and half of the next"),
    pytest.param(2, lambda head, length: [length - 3], id="the end of one with all of the next"),
    pytest.param(2, lambda head, length: [head, length, length + head], id="heads and bodies apart"),
    pytest.param(3, lambda head, length: [length * 2 + head + 1], id="two, and the beginning of a third"),
]


@pytest.mark.parametrize(("count", "cuts"), CUTS)
def test_requests_in_pieces(
    count: int, cuts: Callable[[int, int], list[int]], caller: Caller, server: Server
) -> None:
    """Wherever the network cuts them, each piece is read before the next one is sent."""
    one = framed(caller)
    places = [0, *cuts(one.index(b"\r\n\r\n") + 4, len(one)), len(one) * count]
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for begin, end in itertools.pairwise(places):
            connection.sendall((one * count)[begin:end])
            time.sleep(0.02)
        answers = b""
        while answers.count(caller.user_id.encode()) < count:
            more = connection.recv(65_536)
            assert more, answers
            answers += more
    assert answers.count(b"HTTP/1.1 200 OK\r\n") == count


def test_body_in_chunks_byte_by_byte(caller: Caller, server: Server) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in caller.query_body()) + b"0\r\n\r\n"
    request = framed(caller, b"Transfer-Encoding: chunked", body=chunks)
    assert caller.user_id.encode() in raw(server, *(bytes([byte]) for byte in request))


@pytest.mark.parametrize("size", [1, 10_000], ids="{} bytes at once".format)
def test_trailers_are_no_headers(size: int, caller: Caller, server: Server) -> None:
    body = caller.query_body()
    chunks = b"%x\r\n%s\r\n0\r\n" % (len(body), body)
    stamp = "".join(f"{name}: {value}\r\n" for name, value in caller.stamped(body).items()).encode()
    request = b"POST /public/v1/query/whoami HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    request += chunks + stamp + b"\r\n"
    answer = raw(server, *(request[at : at + size] for at in range(0, len(request), size)))
    assert answer.startswith(b"HTTP/1.1 401 ")


def test_http_1_0(caller: Caller, server: Server) -> None:
    assert caller.user_id.encode() in raw(server, framed(caller).replace(b"HTTP/1.1", b"HTTP/1.0"))


def test_two_requests_in_one_packet(caller: Caller, server: Server) -> None:
    last = framed(caller, b"Connection: close")
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.sendall(framed(caller) + last)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.count(caller.user_id.encode()) == 2


def test_a_large_body_is_read_past_so_that_its_sender_sees_the_answer(server: Server) -> None:
    """Most clients send everything before they read; a connection closed meanwhile would be all they see."""
    head = b"POST /public/v1/query/whoami HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n"
    for size in (2_000_000, 20_000_000):
        assert raw(server, head % size, b"x" * size).startswith(b"HTTP/1.1 413 ")


def test_a_large_body_is_refused_before_it_is_sent_where_the_client_asks(server: Server) -> None:
    head = b"POST /public/v1/query/whoami HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\n"
    answer = raw(server, head + b"Content-Length: 20000000\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in answer


def test_a_client_that_asks_first_is_told_to_go_on(caller: Caller, server: Server) -> None:
    head, end, body = framed(caller, b"Expect: 100-continue", b"Connection: close").partition(b"\r\n\r\n")
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.sendall(head + end)
        assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_client_that_asks_and_goes_on_by_itself_is_answered(caller: Caller, server: Server) -> None:
    answer = raw(server, framed(caller, b"Expect: 100-continue", b"Connection: close"))
    assert answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_thousand_requests_before_the_first_answer_is_read(caller: Caller, server: Server) -> None:
    count = 1_000
    requests = framed(caller) * (count - 1) + framed(caller, b"Connection: close")
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        sender = threading.Thread(target=connection.sendall, args=(requests,))
        sender.start()
        sender.join(timeout=1)
        answers = b"".join(iter(lambda: connection.recv(1_000_000), b""))
        sender.join()
    assert answers.count(b"HTTP/1.1 200 OK\r\n") == answers.count(caller.user_id.encode()) == count
