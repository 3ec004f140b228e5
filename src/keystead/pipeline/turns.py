"""Pieces of work on the event loop, one after the other: callers take turns, and a pause follows each piece.

Without this order, a caller could request many pieces over several connections, and all others would wait for them.
Here: the order and the pauses. Not here: which work waits for a turn (`long_work`, `time_slices`,
`server.large_requests`), the signer's work (`signer.fair_queue`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

PAUSE_MAX_S: Final = 0.1
"""The longest pause after a piece, in seconds. A piece may wait for a slow database, which needs no pause."""


class Turns:
    """The turns of one kind of work. They belong to one event loop. `clock_s`: measures a piece, in seconds."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._free = asyncio.Lock()
        # One piece of each caller waits for its turn. The others of the caller wait for that one.
        self._of_caller: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """For a block that does one piece of work for this caller."""
        async with self.alone(caller), self.piece():
            yield

    @asynccontextmanager
    async def alone(self, caller: str) -> AsyncIterator[None]:
        """For a block that does several pieces for this caller, who has no other block meanwhile."""
        own = self._of_caller.setdefault(caller, asyncio.Lock())
        async with own:
            yield

    @asynccontextmanager
    async def piece(self) -> AsyncIterator[None]:
        """For a block that does one piece of work, inside `alone`. A pause follows it, as long as the piece."""
        await self._free.acquire()
        began_s = self._clock_s()
        try:
            yield
        finally:
            pause_s = min(self._clock_s() - began_s, PAUSE_MAX_S)
            asyncio.get_running_loop().call_later(pause_s, self._free.release)
