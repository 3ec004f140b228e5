"""All connections of this process: their number, the memory of their bytes, and their common end.

Here: the limits that one connection cannot know by itself. Not here: one connection (`connection`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Protocol

import msgspec

from keystead.api.errors import LimitReached, ServiceError, Unavailable
from keystead.pipeline.ports import Clock
from keystead.primitives.share import pause
from keystead.server.http.caller_address import CallerAddresses
from keystead.server.sources import SYSTEM_SOURCES


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of connections, from the settings of the same names. Sizes are bytes, times seconds."""

    header_bytes_max: int
    body_bytes_max: int
    idle_timeout_s: float
    header_timeout_s: float
    body_timeout_s: float
    write_timeout_s: float
    connections_max: int
    connections_per_address_max: int
    connection_bytes_max: int
    addresses: CallerAddresses


class Closable(Protocol):
    """A connection that is ended when the server stops."""

    def finish(self) -> None:
        """End after the current request, if one is arriving or being answered."""

    def abort(self) -> None:
        """End now."""


class Connections:
    """The open connections of one event loop."""

    def __init__(self, limits: ConnectionLimits, clock: Clock = SYSTEM_SOURCES.clock) -> None:
        self.limits = limits
        self.clock = clock
        self.stopping = False
        self.bytes_held = 0
        """Bytes of all connections that were received and not answered yet, or written and not read by the caller
        yet."""
        self._open: dict[Closable, str] = {}
        self._per_key: Counter[str] = Counter()
        self._all_closed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, connection: Closable) -> bool:
        return connection in self._open

    def refusal(self, limit_key: str) -> ServiceError | None:
        """Why one more connection is refused; None if it is accepted."""
        limits = self.limits
        if len(self._open) >= limits.connections_max:
            return Unavailable(f"the server has {limits.connections_max} open connections and accepts no more now")
        if limit_key and self._per_key[limit_key] >= limits.connections_per_address_max:
            return LimitReached(
                f"{limits.connections_per_address_max} connections are open from this address; close some first"
            )
        return None

    def add(self, connection: Closable, limit_key: str) -> None:
        self._open[connection] = limit_key
        self._per_key[limit_key] += 1

    def remove(self, connection: Closable) -> None:
        """Remove a connection. Nothing changes if it was removed before or never added."""
        limit_key = self._open.pop(connection, None)
        if limit_key is None:
            return
        self._per_key[limit_key] -= 1
        if not self._per_key[limit_key]:
            del self._per_key[limit_key]
        if not self._open:
            self._all_closed.set()

    async def stop(self, timeout_s: float) -> None:
        """End all connections: idle ones now, others after their answer, the rest after `timeout_s`."""
        self.stopping = True
        for connection in tuple(self._open):
            connection.finish()
        try:
            async with asyncio.timeout(timeout_s):
                while self._open:
                    self._all_closed.clear()
                    await self._all_closed.wait()
        except TimeoutError:
            for connection in tuple(self._open):
                connection.abort()
            await pause()  # let the tasks of these connections end
