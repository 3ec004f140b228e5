"""HTTP/1.1 on one connection: uvicorn's, with a limit on the size and the time of a request's headers.

Without them one caller could hold memory and connections for ever. The body's limits are in `bodies`. Also here:
offers of another protocol, which are passed over.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from keystead.api.errors import HeadersTooLarge, InvalidRequest, RequestTimeout, ServiceError
from keystead.api.identifiers import new_id
from keystead.api.rendering import error_answer, rfc3339
from keystead.server.logs import RequestLine, RequestLog
from keystead.server.settings import Settings

WHOLE = "keystead.whole"
"""Name of the ASGI extension that a request has once its whole body has arrived: a Whole."""

_OF_AN_OFFER = frozenset({b"upgrade", b"connection", b"http2-settings"})


class Whole:
    """A request that has arrived whole: its body is at hand, and its answer is given at once.

    ASGI's messages, which carry both in parts, would cost a query several hundredths of its time.
    """

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self.body = bytes(cycle.body)

    def answer(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send it, and let the connection go on. `headers` have the body's length, and say nothing of the
        connection. False, and nothing is sent, where the caller is slow to read: then it must be awaited."""
        cycle = self._cycle
        if cycle.flow.write_paused:
            return False
        if cycle.disconnected:
            return True
        head = [STATUS_LINE[status]]
        for name, value in (*cycle.default_headers, *headers):
            head += (name, b": ", value, b"\r\n")
        if not cycle.keep_alive:
            head.append(b"connection: close\r\n")
        cycle.transport.write(b"".join((*head, b"\r\n", body)))
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        return True


class LimitedProtocol(HttpToolsProtocol):
    """Refuses headers that are too large or not complete in time; the limits are the application's settings.

    A connection that sends nothing at all is closed as an idle one.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        application = self.config.loaded_app
        settings: Settings = application.settings
        self._request_log: RequestLog = application.request_log
        self._header_bytes_max = settings.header_bytes_max
        self._header_timeout_s = settings.header_timeout_s
        self._idle_timeout_s = settings.idle_timeout_s
        self._log_requests = settings.log_requests
        self._reading_headers = True
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
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._reading_headers = False
        # With the headers came perhaps the beginning of the body: only then are they looked at more closely.
        is_perhaps_too_large = self._header_bytes > self._header_bytes_max
        self._header_bytes = self._framing_bytes = 0
        self._disarm()
        if is_perhaps_too_large and self._length_of_headers() > self._header_bytes_max:
            self._refuse(self._too_large())
            return
        if not self._offers_upgrade():
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._framing_bytes = 0
        if self.cycle is not None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._reading_headers = True
        if self.cycle is not None and not self._offers_upgrade():
            super().on_message_complete()
            cast(dict[str, Any], self.scope)["extensions"] = {WHOLE: Whole(self.cycle)}

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
