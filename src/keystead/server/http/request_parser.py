"""HTTP/1.1 requests from the bytes of one connection, one request at a time, within limits of size.

Here: where a request ends, its header section (parsed by llhttp, through httptools), its body by length or in
chunks. Not here: sockets and times (`connection`). Bytes after a request are parsed only when the next request is
asked for, so requests that are sent ahead cost only their bytes.
"""

from __future__ import annotations

import enum
import re
from typing import Final

import httptools
import msgspec

from keystead.api.errors import HeadersTooLarge, InvalidRequest, TooLarge
from keystead.server.http.messages import Header, HttpRequest

_END_OF_HEAD: Final = b"\r\n\r\n"
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[^\r\n]*)?", re.DOTALL)
_FRAMING_HEADERS: Final = frozenset({b"transfer-encoding", b"content-length", b"connection", b"expect"})
_FIRST_BYTES: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ\r")


class Stage(enum.Enum):
    """How much of the next request has arrived: nothing, a part of its head, its head and a part of its body."""

    NOTHING = enum.auto()
    HEAD = enum.auto()
    BODY = enum.auto()


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The request line and the headers. `length`: bytes of the body; None if it comes in chunks."""

    method: str
    path: str
    headers: list[Header]
    keep_alive: bool
    length: int | None
    expects_continue: bool


class _Callbacks:
    """The callbacks of httptools for the parts of a header section. `framing`: the values, in lower case, of the
    headers that say where a request ends."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: list[Header] = []
        self.framing: dict[bytes, list[bytes]] = {}

    def on_url(self, part: bytes) -> None:
        self.url += part

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self.headers.append((name, value))
        if name in _FRAMING_HEADERS:
            parts = self.framing.setdefault(name, [])
            parts += map(bytes.strip, value.lower().split(b","))


def read_head(data: bytes) -> Head:
    """Parse the head in `data`, which ends with an empty line. Raises InvalidRequest.

    An `Upgrade` to another protocol is ignored: Java's client and curl offer one in their first request.
    """
    callbacks = _Callbacks()
    parser = httptools.HttpRequestParser(callbacks)
    try:
        parser.feed_data(data)
    except httptools.HttpParserUpgrade:
        pass  # the head was parsed completely, and the body is read here
    except httptools.HttpParserError as refused:
        raise InvalidRequest(f"malformed HTTP: {refused}") from None
    if not callbacks.url:
        raise InvalidRequest("malformed HTTP: expected a request line")
    method, version = parser.get_method().decode(), parser.get_http_version()
    if version not in ("1.0", "1.1"):
        raise InvalidRequest(f"malformed HTTP: HTTP/{version}: expected HTTP/1.1")
    framing = callbacks.framing
    coding = framing.get(b"transfer-encoding")
    if coding and version == "1.0":
        raise InvalidRequest("malformed HTTP: Transfer-Encoding in HTTP/1.0: send a Content-Length")
    if coding and coding != [b"chunked"]:
        raise InvalidRequest("malformed HTTP: Transfer-Encoding: expected chunked and nothing else")
    lengths = framing.get(b"content-length")
    return Head(
        method=method,
        path=_path(callbacks.url, method),
        headers=callbacks.headers,
        keep_alive=version == "1.1" and b"close" not in framing.get(b"connection", ()),
        length=None if coding else int(lengths[0]) if lengths else 0,
        expects_continue=version == "1.1" and b"100-continue" in framing.get(b"expect", ()),
    )


def _path(url: bytes, method: str) -> str:
    if method == "CONNECT":  # its target is an authority, and no path accepts this method
        return url.rpartition(b"@")[2].decode("ascii", "replace")  # without a password
    try:
        path = httptools.parse_url(url).path
    except httptools.HttpParserInvalidURLError:
        path = None
    if not path or not path.isascii():
        raise InvalidRequest("malformed HTTP: invalid request target")
    text = str(path.decode("ascii"))
    while "//" in text:  # clients that join a base address ending in / with a path send //public/…
        text = text.replace("//", "/")
    return text


class RequestParser:
    """Parses the requests of one connection. `receive` adds bytes, `next_request` takes a request."""

    def __init__(self, header_bytes_max: int, body_bytes_max: int) -> None:
        self._header_bytes_max = header_bytes_max
        self._body_bytes_max = body_bytes_max
        self._unread = bytearray()
        self.head: Head | None = None
        """The head of the request whose body is being received."""
        self._chunks: _Chunks | None = None

    @property
    def stage(self) -> Stage:
        if self.head is not None:
            return Stage.BODY
        return Stage.HEAD if self._unread else Stage.NOTHING

    @property
    def bytes_held(self) -> int:
        return len(self._unread) + (len(self._chunks.body) if self._chunks is not None else 0)

    def receive(self, data: bytes) -> int:
        """Add bytes. Returns how many are held now."""
        self._unread += data
        return self.bytes_held if self._chunks is not None else len(self._unread)

    def discard(self) -> None:
        """Discard what has arrived, because the connection ends."""
        self._unread.clear()
        self.head = self._chunks = None

    def next_request(self) -> HttpRequest | None:
        """The next request; None until it has arrived completely.

        Raises InvalidRequest, HeadersTooLarge and TooLarge. After an error, the connection has no further request.
        """
        if self.head is None and not self._take_head():
            return None
        head = self.head
        assert head is not None
        body: bytes | None
        if head.length == len(self._unread):  # nearly always
            body = bytes(self._unread)
            self._unread.clear()
        else:
            body = self._body(head)
        if body is None:
            return None
        self.head = self._chunks = None
        return HttpRequest(
            method=head.method, path=head.path, headers=head.headers, body=body, keep_alive=head.keep_alive
        )

    def _take_head(self) -> bool:
        unread = self._unread
        end = unread.find(_END_OF_HEAD)
        size = len(unread) if end < 0 else end + len(_END_OF_HEAD)
        if size > self._header_bytes_max:
            raise headers_too_large(self._header_bytes_max)
        if end < 0:
            if unread and unread[0] not in _FIRST_BYTES:  # for example a TLS handshake, which has no end of a head
                raise InvalidRequest("malformed HTTP: expected a method")
            return False
        head = read_head(bytes(unread[:size]))
        del unread[:size]
        self.head = head
        if head.length is None:
            self._chunks = _Chunks(self._header_bytes_max, self._body_bytes_max)
        elif head.length > self._body_bytes_max:
            raise body_too_large(self._body_bytes_max)
        return True

    def _body(self, head: Head) -> bytes | None:
        if self._chunks is not None:
            return bytes(self._chunks.body) if self._chunks.take(self._unread) else None
        length = head.length
        assert length is not None
        if len(self._unread) < length:
            return None
        body = bytes(self._unread[:length])
        del self._unread[:length]
        return body


class _ChunkPart(enum.Enum):
    SIZE = enum.auto()
    DATA = enum.auto()
    TRAILER = enum.auto()


class _Chunks:
    """A body in chunks (RFC 9112, section 7.1), parsed strictly. Extensions and trailers are ignored. Everything
    except the body may be as long as a header section, which also bounds the number of chunks."""

    def __init__(self, framing_bytes_max: int, body_bytes_max: int) -> None:
        self.body = bytearray()
        self._framing_bytes_max = framing_bytes_max
        self._body_bytes_max = body_bytes_max
        self._framing_bytes = 0
        self._part = _ChunkPart.SIZE
        self._remaining = 0
        """Bytes of the current chunk that have not arrived, without the line break after it."""

    def take(self, unread: bytearray) -> bool:
        """Take bytes from the beginning of `unread`. Returns whether the body is complete.

        Raises InvalidRequest, HeadersTooLarge, TooLarge.
        """
        while True:
            if self._part is _ChunkPart.DATA:
                if not self._take_data(unread):
                    return False
                continue
            line = self._take_line(unread)
            if line is None:
                return False
            if self._part is _ChunkPart.TRAILER:
                if not line:
                    return True
                continue
            size = _CHUNK_SIZE.fullmatch(line)
            if size is None:
                raise InvalidRequest("malformed HTTP: invalid size of a chunk")
            self._remaining = int(size[1], 16)
            self._part = _ChunkPart.DATA if self._remaining else _ChunkPart.TRAILER
            if len(self.body) + self._remaining > self._body_bytes_max:
                raise body_too_large(self._body_bytes_max)

    def _take_data(self, unread: bytearray) -> bool:
        part = unread[: self._remaining]
        self.body += part
        del unread[: len(part)]
        self._remaining -= len(part)
        if self._remaining or len(unread) < 2:
            return False
        if not unread.startswith(b"\r\n"):
            raise InvalidRequest("malformed HTTP: a chunk is longer than its size")
        del unread[:2]
        self._count(2)
        self._part = _ChunkPart.SIZE
        return True

    def _take_line(self, unread: bytearray) -> bytes | None:
        end = unread.find(b"\r\n")
        if end < 0:
            if self._framing_bytes + len(unread) > self._framing_bytes_max:
                raise headers_too_large(self._framing_bytes_max)
            return None
        line = bytes(unread[:end])
        del unread[: end + 2]
        self._count(end + 2)
        if b"\n" in line or b"\r" in line:
            raise InvalidRequest("malformed HTTP: a line break within a body's framing")
        return line

    def _count(self, size: int) -> None:
        self._framing_bytes += size
        if self._framing_bytes > self._framing_bytes_max:
            raise headers_too_large(self._framing_bytes_max)


def headers_too_large(bytes_max: int) -> HeadersTooLarge:
    return HeadersTooLarge(f"the request's headers are larger than {bytes_max} bytes")


def body_too_large(bytes_max: int) -> TooLarge:
    return TooLarge(f"the request's body is larger than {bytes_max} bytes")
