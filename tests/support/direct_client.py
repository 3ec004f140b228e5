"""A client of httpx whose posts go straight to a socket, in a third of the processor time.

Tests send a hundred thousand requests. Here: `post` of bytes to a path of the server. Everything else is done by
httpx itself.
"""

from __future__ import annotations

import re
import select
import socket
from collections import deque
from collections.abc import Mapping
from typing import Any

import httptools
import httpx

_PLAIN = re.compile(r"[\x21-\x7e]+(?:[ \t]+[\x21-\x7e]+)*|")
_CHUNK_BYTES = 65_536


class DirectClient(httpx.Client):
    """`base_url`: an address without a path. Safe to share among threads, as its base class is."""

    def __init__(self, base_url: str, timeout: float, **options: Any) -> None:
        super().__init__(base_url=base_url, timeout=timeout, **options)
        self._timeout_s = timeout
        self._idle: deque[_Connection] = deque()

    def post(self, url: Any, *, content: Any = None, headers: Any = None, **options: Any) -> httpx.Response:
        plain = isinstance(content, bytes) and not options and _is_plain(url, headers)
        if not plain or self.base_url.scheme != "http" or any(self.event_hooks.values()):
            return super().post(url, content=content, headers=headers, **options)
        lines = {"Host": self.base_url.netloc.decode(), **dict(headers or {}), "Content-Length": str(len(content))}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        connection = self._connection()
        try:
            answer = connection.exchange(f"POST {url} HTTP/1.1\r\n{head}\r\n".encode() + content)
        except BaseException:
            connection.close()
            raise
        if answer.keeps_alive:
            self._idle.append(connection)
        else:
            connection.close()
        return httpx.Response(answer.status, headers=answer.headers, content=bytes(answer.body))

    def _connection(self) -> _Connection:
        while self._idle:
            kept = self._idle.pop()
            if not kept.is_closed():
                return kept
            kept.close()
        address = (self.base_url.host, self.base_url.port or 80)
        try:
            return _Connection(socket.create_connection(address, self._timeout_s))
        except TimeoutError as late:
            raise httpx.ConnectTimeout(str(late)) from late
        except OSError as refused:
            raise httpx.ConnectError(str(refused)) from refused

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
        super().close()


def _is_plain(url: object, headers: object) -> bool:
    """Whether httpx would send exactly these characters, each header once."""
    return (
        isinstance(url, str)
        and isinstance(headers, Mapping | None)
        and url.startswith("/")
        and all(isinstance(value, str) and _PLAIN.fullmatch(value) for value in (headers or {}).values())
        and "%" not in url
        and _PLAIN.fullmatch(url) is not None
    )


class _Answer:
    """What the parser reports of one answer."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = bytearray()
        self.is_complete = self.keeps_alive = False
        self.status = 0
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.is_complete = True
        self.status = self._parser.get_status_code()
        self.keeps_alive = self._parser.should_keep_alive()


class _Connection:
    def __init__(self, stream: socket.socket) -> None:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = stream

    def exchange(self, request: bytes) -> _Answer:
        try:
            self._stream.sendall(request)
        except TimeoutError as late:
            raise httpx.WriteTimeout(str(late)) from late
        except OSError:
            pass  # a server may refuse before it has read everything: then its answer is there
        answer = _Answer()
        while not answer.is_complete:
            try:
                data = self._stream.recv(_CHUNK_BYTES)
            except TimeoutError as late:
                raise httpx.ReadTimeout(str(late)) from late
            except OSError as lost:
                raise httpx.ReadError(str(lost)) from lost
            if not data:
                raise httpx.RemoteProtocolError("the server disconnected without a whole answer")
            try:
                answer.feed(data)
            except httptools.HttpParserError as malformed:
                raise httpx.RemoteProtocolError(str(malformed)) from malformed
        return answer

    def is_closed(self) -> bool:
        """Whether the server has closed the connection, or has sent what nobody asked for."""
        readable = select.poll()
        readable.register(self._stream, select.POLLIN)
        return bool(readable.poll(0))

    def close(self) -> None:
        self._stream.close()
