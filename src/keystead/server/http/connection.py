"""One HTTP/1.1 connection: it reads requests and writes answers, one after the other, within limits.

Here: sockets, times, memory; the one place that writes answers. Not here: how requests are read from bytes
(`request_parser`), the answers (`application`), limits of all connections together (`connections`).

While a request is answered, the connection reads nothing more; what a caller sends ahead stays in the buffers of
the operating system. The next request is read after the caller has read the whole answer, so at most one answer
waits for a connection. If it is not read within `write_timeout_s`, the connection is reset.
"""

from __future__ import annotations

import asyncio
import email.utils
import functools
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import assert_never, cast

from keystead.api.errors import RequestTimeout, ServiceError, Unavailable
from keystead.server.http.connections import Connections
from keystead.server.http.messages import CallerAddress, Header, HttpAnswer, HttpRequest
from keystead.server.http.request_parser import RequestParser, Stage

AnswerRequest = Callable[[HttpRequest], Awaitable[HttpAnswer]]
"""The application. It raises only CancelledError."""

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_WITHOUT_CONTENT = (204, 304)
"""Answers without content have no length either (RFC 9110, section 8.6)."""

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class HttpConnection(asyncio.Protocol):
    """Belongs to the event loop of its socket."""

    def __init__(self, connections: Connections, answer: AnswerRequest) -> None:
        self._connections = connections
        self._limits = connections.limits
        self._answer = answer
        self._parser = RequestParser(self._limits.header_bytes_max, self._limits.body_bytes_max)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._peer = CallerAddress()
        self._is_trusted = False
        """Whether the other end is a trusted proxy."""
        self._timer: asyncio.TimerHandle | None = None
        self._timed_stage: Stage | None = None
        """The stage that the timer is for."""
        self._task: asyncio.Task[None] | None = None
        """Answers the request that was read last, and waits until the caller has read the answer."""
        self._drained: asyncio.Future[None] | None = None
        """Done when the caller has read everything that was written. None if nothing waits to be read."""
        self._bytes_held = self._body_bytes = 0
        """The bytes that are counted for this connection, and how many of these are in the body of the request that
        is being answered."""
        self._is_reading = True
        self._is_ending = False
        """Data that still arrives is ignored."""
        self._got_eof = False
        """The caller will send nothing more."""
        self._is_lost = False

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        # With a limit of 0 the event loop calls `pause_writing` as soon as a byte waits in the transport. Under TLS
        # it would call it even if no byte waits.
        is_plain = transport.get_extra_info("sslcontext") is None
        self._transport.set_write_buffer_limits(high=0 if is_plain else 1, low=0)
        peer = transport.get_extra_info("peername")
        addresses = self._limits.addresses
        self._peer = addresses.of_peer(str(peer[0]) if isinstance(peer, tuple) else "")
        self._is_trusted = addresses.is_trusted(self._peer)
        refusal = self._connections.refusal(self._peer.limit_key)
        if refusal is not None:
            self._refuse(refusal)
            return
        self._connections.add(self, self._peer.limit_key)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        if self._is_ending:
            return
        held = self._parser.receive(data)
        if not self._count_held(held + self._body_bytes):
            self._refuse_for_memory()
        elif self._task is None:
            self._advance()
        else:
            self._set_reading(False)

    def eof_received(self) -> bool:
        self._got_eof = True
        return self._task is not None  # the answer is still to be sent

    def pause_writing(self) -> None:
        self._drained = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._drained is not None:
            self._drained.set_result(None)
            self._drained = None

    def connection_lost(self, _: Exception | None) -> None:
        self._is_lost = self._is_ending = True
        self._stop_timer()
        self.resume_writing()
        self._parser.discard()
        if self._task is None:
            self._release()

    # Called by `Connections`.

    def finish(self) -> None:
        if self._task is None and self._parser.stage is Stage.NOTHING:
            self._transport.close()

    def abort(self) -> None:
        self._reset()
        if self._task is not None:
            self._task.cancel()

    # A request, from its first byte to its answer.

    def _advance(self) -> None:
        """Continue with the data that has arrived."""
        try:
            request = self._parser.next_request()
        except ServiceError as error:
            self._refuse(error)
            return
        if request is not None:
            request.client = self._client(request.headers) if self._is_trusted else self._peer
            self._body_bytes = len(request.body)
            self._start_answer(request)
        else:
            self._await_request()

    def _await_request(self) -> None:
        if self._got_eof:
            self._transport.close()
            return
        if not self._is_reading:
            self._set_reading(True)
        stage = self._parser.stage
        if stage is self._timed_stage:
            return
        self._timed_stage = stage
        limits = self._limits
        match stage:
            case Stage.NOTHING:
                self._start_timer(limits.idle_timeout_s, self._transport.close)
            case Stage.HEAD:
                self._start_timer(limits.header_timeout_s, self._head_is_late)
            case Stage.BODY:
                self._start_timer(limits.body_timeout_s, self._body_is_late)
                head = self._parser.head
                if head is not None and head.expects_continue:
                    self._transport.write(_CONTINUE)
            case _:
                assert_never(stage)

    def _head_is_late(self) -> None:
        seconds = self._limits.header_timeout_s
        self._refuse(RequestTimeout(f"the request's headers were not complete within {seconds:g} s"))

    def _body_is_late(self) -> None:
        seconds = self._limits.body_timeout_s
        self._refuse(RequestTimeout(f"the request's body was not complete within {seconds:g} s"))

    def _refuse_for_memory(self) -> None:
        if self._task is None:
            self._refuse(Unavailable("the server is receiving more than it has memory for; send the request again"))
        else:
            self._reset()  # the caller sends requests without reading the answers

    def _refuse(self, error: ServiceError) -> None:
        """Answer an incomplete request with an error, and end the connection."""
        head = self._parser.head
        request = HttpRequest(client=self._peer, refusal=error)
        if head is not None:
            request.method, request.path, request.headers = head.method, head.path, head.headers
            request.client = self._client(head.headers) if self._is_trusted else self._peer
        self._is_ending = True
        self._parser.discard()
        self._start_answer(request)

    def _client(self, headers: Iterable[Header]) -> CallerAddress:
        """The address of the caller whose request, with these headers, a trusted proxy forwards."""
        return self._limits.addresses.forwarded(self._peer, headers)

    def _start_answer(self, request: HttpRequest) -> None:
        self._stop_timer()
        self._timed_stage = None
        self._task = self._loop.create_task(self._answer_request(request))

    async def _answer_request(self, request: HttpRequest) -> None:
        try:
            answer = await self._answer(request)
            is_last = answer.close or not request.keep_alive or self._connections.stopping
            await self._write(answer, is_head=request.method == "HEAD", is_last=is_last)
        except BaseException:
            self._reset()  # the caller must not wait for an answer that will not come
            raise
        finally:
            self._task = None
            self._body_bytes = 0
            if self._is_lost:
                self._release()
        if self._is_lost or self._transport.is_closing():
            return
        held = self._parser.bytes_held
        self._count_held(held)
        if self._is_ending or answer.close:
            self._half_close()
        elif is_last:
            self._transport.close()
        elif held:
            self._advance()
        else:
            self._await_request()

    async def _write(self, answer: HttpAnswer, *, is_head: bool, is_last: bool) -> None:
        """Send the answer, and wait until the caller has read it or the time limit is over."""
        if self._drained is not None:  # "100 Continue", to a caller that reads nothing
            self._reset()
        if self._is_lost or self._transport.is_closing():
            return
        head = [_STATUS_LINES[answer.status], _date_line(self._connections.clock.now_ms() // 1000)]
        for name, value in answer.headers:
            head += (name, b": ", value, b"\r\n")
        if answer.status not in _WITHOUT_CONTENT:
            head.append(b"content-length: %d\r\n" % len(answer.body))
        head.append(b"connection: close\r\n\r\n" if is_last else b"\r\n")
        if not is_head:
            head.append(answer.body)
        self._transport.write(b"".join(head))
        if self._drained is None:
            return
        self._body_bytes = 0
        if self._count_held(self._transport.get_write_buffer_size() + self._parser.bytes_held):
            self._start_timer(self._limits.write_timeout_s, self._reset)
            await self._drained
            self._stop_timer()
        else:
            self._reset()

    # The end of a connection.

    def _half_close(self) -> None:
        """Close the sending side, and discard what the caller still sends. Most callers send everything before
        they read; a full close would reset the connection before they read the answer."""
        self._is_ending = True
        self._parser.discard()
        if self._got_eof or self not in self._connections or not self._transport.can_write_eof():
            self._transport.close()  # under TLS this discards what still arrives, for `tls.SHUTDOWN_S`
            return
        self._transport.write_eof()
        self._set_reading(True)
        self._start_timer(self._limits.body_timeout_s, self._reset)

    def _reset(self) -> None:
        """Reset the connection. After a normal close, the operating system would keep the unsent data and try to
        send it."""
        if not self._transport.is_closing():
            connection = self._transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _release(self) -> None:
        """Free what the connection held, after it is lost and its last request is answered."""
        self._count_held(0)
        self._connections.remove(self)

    # What is held, read and waited for.

    def _count_held(self, size: int) -> bool:
        """Set the bytes that this connection holds. Returns whether all connections together are within their
        limit."""
        connections = self._connections
        connections.bytes_held += size - self._bytes_held
        self._bytes_held = size
        return connections.bytes_held <= self._limits.connection_bytes_max

    def _set_reading(self, is_wanted: bool) -> None:
        if is_wanted is not self._is_reading and not self._transport.is_closing():
            self._is_reading = is_wanted
            if is_wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _start_timer(self, seconds: float, action: Callable[[], object]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, action)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


@functools.lru_cache(maxsize=2)
def _date_line(epoch_s: int) -> bytes:
    return f"date: {email.utils.formatdate(epoch_s, usegmt=True)}\r\n".encode()
