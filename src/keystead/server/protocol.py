"""HTTP/1.1 on one connection: uvicorn's, with a limit on the size and the time of a request's headers.

Without them one caller could hold memory and connections for ever. The body's limits are in `bodies`.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from keystead.api.errors import HeadersTooLarge, InvalidRequest, RequestTimeout, ServiceError
from keystead.api.identifiers import new_id
from keystead.api.rendering import error_answer
from keystead.server.settings import Settings


class LimitedProtocol(HttpToolsProtocol):
    """Refuses headers that are too large or not complete in time; the limits are the application's settings.

    A connection that sends nothing at all is closed as an idle one.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        settings: Settings = self.config.loaded_app.settings
        self._header_bytes_max = settings.header_bytes_max
        self._header_timeout_s = settings.header_timeout_s
        self._idle_timeout_s = settings.idle_timeout_s
        self._reading_headers = True
        self._header_bytes = 0
        self._header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._arm(self._idle_timeout_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._reading_headers:
            self._header_bytes += len(data)
        super().data_received(data)
        if not self._reading_headers or self.transport.is_closing():
            return
        if self._header_bytes > self._header_bytes_max:
            self._refuse(self._too_large())
        elif self._header_bytes == len(data):  # the first of them
            self._disarm()
            self._arm(self._header_timeout_s)

    def on_message_begin(self) -> None:
        self._reading_headers = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._reading_headers = False
        self._header_bytes = 0
        self._disarm()
        if sum(len(name) + len(value) + 4 for name, value in self.headers) + len(self.url) > self._header_bytes_max:
            self._refuse(self._too_large())
            return
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._reading_headers = True
        if self.cycle is not None:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(InvalidRequest(f"malformed HTTP: {msg}"))

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
        body = error_answer(error)
        headers = [
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"connection: close",
            b"x-request-id: " + new_id().encode(),
        ]
        status = STATUS_LINE[HTTPStatus(error.http_status)]
        self.transport.write(status + b"\r\n".join(headers) + b"\r\n\r\n" + body)
        self.transport.close()
