"""The load generator: sends prepared requests over persistent connections, and measures the time until the last
byte of each answer.

Here: as much of HTTP/1.1 as is needed to find the end of an answer. A connection has one request under way and
sends the next one after its answer. A connection that the server closes is replaced. Not here: the requests
(`cases`).
"""

from __future__ import annotations

import asyncio
import gc
import re
import time
from collections.abc import Iterator, Sequence

import msgspec
import uvloop

from bench.failure import BenchFailure

CONNECTIONS = 16

_CLOSES = re.compile(rb"\r\nconnection: close\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class Load(msgspec.Struct, frozen=True):
    """The result: `latencies` of the measured requests in seconds; `failures`, the answers with another status
    than 200."""

    seconds: float
    latencies: list[float]
    failures: list[bytes]

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.latencies) / self.seconds


def combined(loads: Sequence[Load]) -> Load:
    """The results of several loads as one."""
    return Load(
        sum(load.seconds for load in loads),
        [latency for load in loads for latency in load.latencies],
        [failure for load in loads for failure in load.failures],
    )


def send(ports: Sequence[int], requests: Sequence[bytes], *, warm_up: int, limit_s: float) -> Load:
    """Send all requests; the first `warm_up` of them are not measured. An answer with another status than 200 is a
    failure.

    Several ports share the connections evenly.

    Raises BenchFailure if the server breaks a connection, or if sending takes longer than `limit_s`.
    """
    gc.collect()
    gc.disable()
    try:
        return uvloop.run(_send(ports, requests, warm_up, limit_s))
    finally:
        gc.enable()


def send_beside(
    port: int, requests: Sequence[bytes], flood: Sequence[bytes], *, callers: int, limit_s: float
) -> tuple[Load, Load]:
    """Send the requests over one connection, and the flood over as many as there are callers, until all of either
    are answered. Without a flood, until the requests are.

    Returns the load of the requests and that of the flood. Raises BenchFailure.
    """
    gc.collect()
    gc.disable()
    try:
        return uvloop.run(_send_beside(port, requests, flood, callers, limit_s))
    finally:
        gc.enable()


async def _send_beside(
    port: int, requests: Sequence[bytes], flood: Sequence[bytes], callers: int, limit_s: float
) -> tuple[Load, Load]:
    loop = asyncio.get_running_loop()
    quiet, flooding = _Progress(requests, 0, loop.create_future()), _Progress(flood, 0, loop.create_future())
    connections = [await flooding.connected(port) for _ in range(callers if flood else 0)]
    connections.append(await quiet.connected(port))
    begun = time.perf_counter()
    for connection in connections:
        connection.send_next()
    ended, _ = await asyncio.wait(
        (quiet.ended, flooding.ended), timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
    )
    seconds = time.perf_counter() - begun
    for progress in (quiet, flooding):
        progress.ended.cancel()
    for connection in connections:
        connection.close()
    if not ended:
        raise BenchFailure(f"neither {len(requests)} requests nor a flood were answered within {limit_s:g} s")
    for future in ended:
        future.result()  # raises what broke a connection
    first, second = (Load(seconds, progress.latencies, progress.failures) for progress in (quiet, flooding))
    return first, second


async def _send(ports: Sequence[int], requests: Sequence[bytes], warm_up: int, limit_s: float) -> Load:
    loop = asyncio.get_running_loop()
    progress = _Progress(requests, warm_up, loop.create_future())
    connections = [await progress.connected(ports[number % len(ports)]) for number in range(CONNECTIONS)]
    for connection in connections:
        connection.send_next()
    try:
        await asyncio.wait_for(progress.ended, limit_s)
    except TimeoutError:
        raise BenchFailure(f"{len(requests)} requests were not answered within {limit_s:g} s") from None
    finally:
        for connection in connections:
            connection.close()
    return Load(progress.ended_at - progress.begun_at, progress.latencies, progress.failures)


class _Progress:
    """The state that the connections share: the requests that are not sent yet, and the results of the others."""

    def __init__(self, requests: Sequence[bytes], warm_up: int, ended: asyncio.Future[None]) -> None:
        self.requests: Iterator[bytes] = iter(requests)
        self.ended = ended
        self.begun_at = self.ended_at = 0.0
        self.latencies: list[float] = []
        self.failures: list[bytes] = []
        self._unanswered = len(requests)
        self._warm_up = warm_up

    def answered(self, sent_at: float, answer: bytes) -> None:
        now = time.perf_counter()
        self._unanswered -= 1
        if answer[9:12] != b"200":
            self.failures.append(answer)
        if self._warm_up:
            self._warm_up -= 1
            self.begun_at = now
        else:
            self.latencies.append(now - sent_at)
        if not self._unanswered:
            self.ended_at = now
            self.ended.set_result(None)

    async def connected(self, port: int) -> _Connection:
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(lambda: _Connection(self, port), "127.0.0.1", port))[1]

    async def replace(self, port: int) -> None:
        """Open a new connection in place of one that ended, and continue with the next request."""
        try:
            (await self.connected(port)).send_next()
        except OSError as refused:
            if not self.ended.done():
                self.ended.set_exception(BenchFailure(f"the server accepts no more connections: {refused}"))


class _Connection(asyncio.Protocol):
    def __init__(self, progress: _Progress, port: int) -> None:
        self._progress = progress
        self._port = port
        self._received = b""
        self._sent_at = 0.0
        self._replacement: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        if self._replacement is None and not self._progress.ended.done():
            self._progress.ended.set_exception(BenchFailure("the server closed a connection"))

    def send_next(self) -> None:
        request = next(self._progress.requests, None)
        if request is not None:
            self._sent_at = time.perf_counter()
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        received = self._received + data if self._received else data
        end_of_head = received.find(b"\r\n\r\n")
        length = _LENGTH.search(received, 0, end_of_head + 2) if end_of_head >= 0 else None
        if length is None or len(received) < end_of_head + 4 + int(length[1]):
            self._received = received
            return
        self._received = b""
        self._progress.answered(self._sent_at, received)
        if _CLOSES.search(received, 0, end_of_head + 2) is None:
            self.send_next()
        else:
            self._replacement = asyncio.get_running_loop().create_task(self._progress.replace(self._port))
            self.close()

    def close(self) -> None:
        self._transport.abort()
