"""HTTP/1.1 on one connection: uvicorn's, with a limit on the size and the time of a request's headers.

Without them one caller could hold memory and connections for ever. The body's limits are in `bodies`. Also here:
requests that arrive whole, as nearly all do, which the application answers without ASGI's messages; and offers of
another protocol, which are passed over.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from keystead.api.errors import HeadersTooLarge, InvalidRequest, RequestTimeout, ServiceError
from keystead.api.identifiers import new_id
from keystead.api.rendering import error_answer, rfc3339
from keystead.server.logs import RequestLine

if TYPE_CHECKING:
    from keystead.server.application import Application

_OF_AN_OFFER = frozenset({b"upgrade", b"connection", b"http2-settings"})


class Whole:
    """A request that has arrived whole, while none before it on its connection is under way.

    It takes the place of uvicorn's cycle, which carries both sides in parts, as ASGI's messages do: that costs a
    query a tenth of its time. `headers` have their names in lower case.
    """

    __slots__ = ("_protocol", "body", "headers", "keep_alive", "method", "path", "response_complete")
    response_started = False  # nothing is sent before all is

    def __init__(
        self,
        protocol: LimitedProtocol,
        method: str,
        path: str,
        headers: list[tuple[bytes, bytes]],
        body: bytes,
        *,
        keep_alive: bool,
    ) -> None:
        self._protocol = protocol
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.keep_alive = keep_alive
        self.response_complete = False

    async def answer(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
        """Send it, and let the connection go on. `headers` have the body's length, and say nothing of the
        connection. Waits while the caller is slow to read what it was sent before."""
        protocol = self._protocol
        if protocol.flow.write_paused:
            await protocol.flow.drain()
        self._end()
        transport = protocol.transport
        if transport.is_closing():
            return
        head = [STATUS_LINE[status]]
        for name, value in (*protocol.server_state.default_headers, *headers):
            head += (name, b": ", value, b"\r\n")
        if not self.keep_alive:
            head.append(b"connection: close\r\n")
        head += (b"\r\n", b"" if self.method == "HEAD" else body)
        transport.write(b"".join(head))
        if not self.keep_alive:
            transport.close()
        protocol.on_response_complete()

    def abandon(self) -> None:
        """There will be no answer, and the caller is not to wait for it."""
        self._end()
        self._protocol.transport.close()

    def _end(self) -> None:
        self.response_complete = True
        if self._protocol.cycle is self:  # an idle connection keeps no request
            self._protocol.cycle = None


class LimitedProtocol(HttpToolsProtocol):
    """Refuses headers that are too large or not complete in time; the limits are the application's settings.

    A connection that sends nothing at all is closed as an idle one.
    """

    cycle: Any
    """The newest request's: uvicorn's, or a Whole in its place."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._application: Application = self.config.loaded_app
        settings = self._application.settings
        self._request_log = self._application.request_log
        self._header_bytes_max = settings.header_bytes_max
        self._header_timeout_s = settings.header_timeout_s
        self._idle_timeout_s = settings.idle_timeout_s
        self._log_requests = settings.log_requests
        self._reading_headers = True
        self._path = ""
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] | None = None
        """Of the body being read, until it is known whether it arrives whole."""
        self._is_in_parts = False
        """Whether a cycle of uvicorn's takes the body being read."""
        self._header_bytes = 0
        self._framing_bytes = 0
        """Received since the last byte of a body: of chunks' extensions, or of trailers."""
        self._header_timer: asyncio.TimerHandle | None = None
        self._data = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._arm(self._idle_timeout_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if isinstance(self.cycle, Whole):
            self.cycle = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._reading_headers:
            self._header_bytes += len(data)
        else:
            self._framing_bytes += len(data)
        self._data = data
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._parts is not None:
            self._take_in_parts(self._parts)
        if not self._reading_headers:
            if self._framing_bytes > self._header_bytes_max:
                self._refuse(self._too_large())
        elif self._header_bytes > self._header_bytes_max:
            self._refuse(self._too_large())
        elif self._header_bytes == len(data):  # the first of them
            self._disarm()
            self._arm(self._header_timeout_s)

    def on_message_begin(self) -> None:
        self._reading_headers = True
        self._is_in_parts = False
        self._parts = None
        self.url, self.headers = b"", []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._reading_headers = False
        # With the headers came perhaps the beginning of the body: only then are they looked at more closely.
        is_perhaps_too_large = self._header_bytes > self._header_bytes_max
        self._header_bytes = self._framing_bytes = 0
        self._disarm()
        if is_perhaps_too_large and self._length_of_headers() > self._header_bytes_max:
            self._refuse(self._too_large())
        elif not self._offers_upgrade():
            self._path = httptools.parse_url(self.url).path.decode("ascii")
            self._parts = []
            self._headers, self.headers = self.headers, []  # what comes now are trailers, which mean nothing here

    def on_body(self, body: bytes) -> None:
        self._framing_bytes = 0
        if self._parts is not None:
            self._parts.append(body)
        elif self._is_in_parts:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._reading_headers = True
        if self._parts is not None:
            if "%" not in self._path and (self.cycle is None or self.cycle.response_complete):
                self._take_whole(self._parts)
                return
            self._take_in_parts(self._parts)
        if self._is_in_parts:
            super().on_message_complete()

    def _take_whole(self, parts: list[bytes]) -> None:
        self._parts = None
        request = Whole(
            self,
            self.parser.get_method().decode(),
            self._path,
            self._headers,
            b"".join(parts),
            keep_alive=self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive(),
        )
        self.cycle = request
        task = self.loop.create_task(self._application.whole(request))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _take_in_parts(self, parts: list[bytes]) -> None:
        """Have uvicorn go on with a request whose headers are there: the rest of its body is still to come, or an
        answer that goes before its own."""
        url, self._parts = self.url, None
        self._is_in_parts = True
        super().on_message_begin()
        self.url = url
        for name, value in self._headers:
            super().on_header(name, value)
        self.headers = []
        super().on_headers_complete()
        for part in parts:
            super().on_body(part)

    def _offers_upgrade(self) -> bool:
        return bool(self.parser.should_upgrade()) and self.parser.get_method() != b"CONNECT"

    def _unsupported_upgrade_warning(self) -> None:
        """Called while the parser's exception is handled. Java's client and curl offer HTTP/2 with a first request,
        whose body the parser then takes for the other protocol: parse it once more, without the offer."""
        stopped = sys.exception()
        if not isinstance(stopped, httptools.HttpParserUpgrade) or not self._offers_upgrade():
            return
        head = [self.parser.get_method(), b" ", self.url, b" HTTP/1.1\r\n"]
        for name, value in self.headers:
            if name not in _OF_AN_OFFER:
                head += [name, b": ", value, b"\r\n"]
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(b"".join(head) + b"\r\n" + self._data[stopped.args[0] :])

    def send_400_response(self, msg: str) -> None:
        self._refuse(InvalidRequest(f"malformed HTTP: {msg}"))

    def _length_of_headers(self) -> int:
        return sum(len(name) + len(value) + 4 for name, value in self.headers) + len(self.url)

    def _too_large(self) -> HeadersTooLarge:
        return HeadersTooLarge(f"the request's headers are larger than {self._header_bytes_max} bytes")

    def _arm(self, seconds: float) -> None:
        self._header_timer = self.loop.call_later(seconds, self._too_late)

    def _disarm(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _too_late(self) -> None:
        self._header_timer = None
        if self._header_bytes:
            self._refuse(
                RequestTimeout(f"the request's headers were not complete within {self._header_timeout_s:g} s")
            )
        else:
            self.transport.close()

    def _refuse(self, error: ServiceError) -> None:
        """Answer without the application, which never sees this request, and close."""
        if self.transport.is_closing():
            return
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.close()
            return
        request_id, body = new_id(), error_answer(error)
        headers = [
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"connection: close",
            b"x-request-id: " + request_id.encode(),
        ]
        status = STATUS_LINE[HTTPStatus(error.http_status)]
        self.transport.write(status + b"\r\n".join(headers) + b"\r\n\r\n" + body)
        self.transport.close()
        if self._log_requests:
            self._request_log.add(
                RequestLine(
                    time=rfc3339(time.time_ns() // 1_000_000),
                    level="info",
                    event="request",
                    request_id=request_id,
                    method="",
                    path="",
                    status=error.http_status,
                    ms=0.0,
                    organization_id="",
                    user_id="",
                    activity_id="",
                    error=error.message,
                )
            )
