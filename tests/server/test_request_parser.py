"""Requests from bytes: where each begins and ends, however the network cuts them, and what is refused."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from keystead.api.errors import HeadersTooLarge, InvalidRequest, ServiceError, TooLarge
from keystead.server.http.request_parser import RequestParser, Stage


def parsed(
    data: bytes, size: int = 1_000_000, *, headers: int = 1_000, body: int = 1_000
) -> list[tuple[str, bytes]]:
    """Path and body of every request in the data, which arrives in pieces of `size`."""
    parser, found = RequestParser(headers, body), []
    for at in range(0, len(data), size):
        parser.receive(data[at : at + size])
        while (request := parser.next_request()) is not None:
            found.append((request.path, request.body))
    return found


CHUNKED = b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


class Good(NamedTuple):
    name: str
    data: bytes
    expected: list[tuple[str, bytes]]


NEXT = b"GET /next HTTP/1.1\r\n\r\n"
LINES = b"\r\n\r\n"

GOOD = [
    Good("no body", b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n", [("/a", b"")]),
    Good("a body", b"POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyz", [("/a", b"xyz")]),
    Good("an empty body", b"POST /a HTTP/1.1\r\nContent-Length: 0\r\n\r\n", [("/a", b"")]),
    Good("one after the other", NEXT * 3, [("/next", b"")] * 3),
    Good("a line break between", NEXT + b"\r\n" + NEXT, [("/next", b"")] * 2),
    Good(
        "a body that looks like the end of a head",
        b"POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\n" + LINES + NEXT,
        [("/a", LINES), ("/next", b"")],
    ),
    Good("chunks", CHUNKED + b"2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n" + NEXT, [("/c", b"abc"), ("/next", b"")]),
    Good("a chunk of line breaks", CHUNKED + b"4\r\n\r\n\r\n\r\n0\r\n\r\n", [("/c", LINES)]),
    Good("trailers", CHUNKED + b"1\r\na\r\n0\r\nX: y\r\nZ: w\r\n\r\n" + NEXT, [("/c", b"a"), ("/next", b"")]),
    Good("chunk sizes in letters", CHUNKED + b"A\r\n0123456789\r\n00\r\n\r\n", [("/c", b"0123456789")]),
    Good("a query is not part of the path", b"GET /a?b=/c HTTP/1.1\r\n\r\n", [("/a", b"")]),
    Good("a whole address", b"GET http://host/a HTTP/1.1\r\n\r\n", [("/a", b"")]),
    Good("percent signs stay", b"GET /a%2fb%00 HTTP/1.1\r\n\r\n", [("/a%2fb%00", b"")]),
    Good(
        "an offer of another protocol",
        b"POST /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\nx" + NEXT,
        [("/a", b"x"), ("/next", b"")],
    ),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_requests(case: Good, size: int) -> None:
    assert parsed(case.data, size) == case.expected


class Bad(NamedTuple):
    name: str
    data: bytes
    error: type[ServiceError]


BAD = [
    Bad("a TLS greeting", b"\x16\x03\x01\x02\x00\x01", InvalidRequest),
    Bad("nothing but line breaks", b"\r\n\r\n", InvalidRequest),
    Bad("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", InvalidRequest),
    Bad("another version", b"GET / HTTP/2.0\r\n\r\n", InvalidRequest),
    Bad("chunks in HTTP/1.0", CHUNKED.replace(b"1.1", b"1.0"), InvalidRequest),
    Bad("a coding before chunks", CHUNKED.replace(b"chunked", b"gzip, chunked"), InvalidRequest),
    Bad("chunked twice", CHUNKED.replace(b"chunked", b"chunked, chunked"), InvalidRequest),
    Bad("two codings", CHUNKED.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n"), InvalidRequest),
    Bad("a length and chunks", CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Length: 1\r\n\r\n"), InvalidRequest),
    Bad("an invalid target", b"GET nowhere HTTP/1.1\r\n\r\n", InvalidRequest),
    Bad("bare line feeds", b"GET / HTTP/1.1\nHost: x\n\n\r\n\r\n", InvalidRequest),
    Bad("a folded header", b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", InvalidRequest),
    Bad("a chunk without a size", CHUNKED + b"\r\n", InvalidRequest),
    Bad("a chunk's size in words", CHUNKED + b"many\r\n", InvalidRequest),
    Bad("a negative chunk", CHUNKED + b"-1\r\n", InvalidRequest),
    Bad("a chunk's size in C", CHUNKED + b"0x1\r\n", InvalidRequest),
    Bad("a space after a chunk's size", CHUNKED + b"1 \r\na\r\n", InvalidRequest),
    Bad("a chunk's size of nine digits", CHUNKED + b"000000001\r\n", InvalidRequest),
    Bad("a line feed in an extension", CHUNKED + b"1;x\ny\r\na\r\n", InvalidRequest),
    Bad("a chunk longer than its size", CHUNKED + b"1\r\nab\r\n", InvalidRequest),
    Bad("a head too large", b"GET / HTTP/1.1\r\nX: " + b"x" * 1_000 + b"\r\n\r\n", HeadersTooLarge),
    Bad("a head without end", b"GET /" + b"x" * 1_000, HeadersTooLarge),
    Bad("chunks that are mostly framing", CHUNKED + b"1\r\na\r\n" * 201, HeadersTooLarge),
    Bad("an extension without end", CHUNKED + b"1;" + b"x" * 1_000, HeadersTooLarge),
    Bad("trailers without end", CHUNKED + b"0\r\n" + b"X: y\r\n" * 200, HeadersTooLarge),
    Bad("a body too large", b"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", TooLarge),
    Bad("chunks too large", CHUNKED + b"3e8\r\n" + b"x" * 1_000 + b"\r\n1\r\n", TooLarge),
    Bad("a chunk too large", CHUNKED + b"ffffffff\r\n", TooLarge),
]


@pytest.mark.parametrize("size", [1, 1_000_000])
@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_refused(case: Bad, size: int) -> None:
    with pytest.raises(case.error):
        parsed(case.data, size)


LASTING = [
    (b"GET / HTTP/1.1\r\n\r\n", True),
    (b"GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", True),
    (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", False),
    (b"GET / HTTP/1.1\r\nConnection: Close, Upgrade\r\nUpgrade: h2c\r\n\r\n", False),
    (b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nConnection: close\r\nUpgrade: h2c\r\n\r\n", False),
    (b"GET / HTTP/1.0\r\n\r\n", False),
    (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False),
]


@pytest.mark.parametrize(("data", "expected"), LASTING)
def test_whether_the_connection_lasts(data: bytes, expected: bool) -> None:
    parser = RequestParser(1_000, 1_000)
    parser.receive(data)
    request = parser.next_request()
    assert request is not None
    assert request.keep_alive is expected


def test_what_follows_a_request_is_not_read_before_it_is_asked_for() -> None:
    parser = RequestParser(1_000, 1_000)
    parser.receive(b"GET /a HTTP/1.1\r\n\r\n" + b"\x00" * 100)
    assert parser.next_request() is not None
    assert (parser.stage, parser.bytes_held) == (Stage.HEAD, 100)
    with pytest.raises(InvalidRequest):
        parser.next_request()
