"""Connections of the server with an application of the test, over real sockets, on the test's event loop.

Here: starting it, talking to it in bytes. Not here: whole servers (`servers`).
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from keystead.api.rendering import error_answer
from keystead.server.http.caller_address import CallerAddresses
from keystead.server.http.connection import AnswerRequest, HttpConnection
from keystead.server.http.connections import ConnectionLimits, Connections
from keystead.server.http.messages import HttpAnswer, HttpRequest
from tests.support.hanging import PATIENCE_S

LIMITS = ConnectionLimits(
    header_bytes_max=32_768,
    body_bytes_max=1_048_576,
    idle_timeout_s=60,
    header_timeout_s=60,
    body_timeout_s=60,
    write_timeout_s=60,
    connections_max=100,
    connections_per_address_max=100,
    connection_bytes_max=100_000_000,
    addresses=CallerAddresses(shared=(ipaddress.ip_network("127.0.0.0/8"),)),
)
"""High limits; a test lowers one of them."""

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def plain_answer(body: bytes) -> HttpAnswer:
    return HttpAnswer(200, [], body)


async def path_as_answer(request: HttpRequest) -> HttpAnswer:
    """Answers with the path, or with the refusal that the connection gives."""
    if request.refusal is not None:
        body = error_answer(request.refusal)
        return HttpAnswer(request.refusal.http_status, [], body, close=True)
    return plain_answer(request.path.encode())


@dataclass
class Listening:
    connections: Connections
    port: int
    callers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(self, source: str = "127.0.0.1") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A caller, which reads no more than some 100 kB ahead of what is asked of its reader."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))
        self.callers.append(writer)
        return reader, writer

    async def until_closed(self, count: int = 0) -> None:
        """Wait until at most `count` connections are open."""
        await self.until(lambda: len(self.connections) <= count)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110 - connections tell nobody
                await asyncio.sleep(0.001)


@asynccontextmanager
async def listening(answer: AnswerRequest = path_as_answer, **limits: Any) -> AsyncIterator[Listening]:
    connections = Connections(replace(LIMITS, **limits))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: HttpConnection(connections, answer), "127.0.0.1", 0)
    it = Listening(connections, server.sockets[0].getsockname()[1])
    try:
        yield it
    finally:
        server.close()
        for caller in it.callers:
            caller.transport.abort()
        await connections.stop(0)
