"""Work that holds the event loop for tens of milliseconds: one piece after the other, organizations in turns, and
other requests in between.

Each piece has its own limit (docs/limits.md). Without this, a caller could ask for many pieces over several
connections, and everybody else would wait for all of them. Here: the order of the pieces. Not here: large bodies
(`server.large_requests`), the signer's work (`signer.fair_queue`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from keystead.primitives.lru import Lru

T = TypeVar("T")

LONG_S: Final = 0.01
"""A piece that takes longer is long. Processor time in seconds."""

PAUSE_MAX_S: Final = 0.1
"""The longest pause after a piece."""

CHARACTERS: Final = 2_000
"""Of an expression: to read and compile more takes longer than 10 ms."""

PASSKEYS: Final = 10
"""Of the users whom one request adds: to verify more takes longer than 10 ms."""

COSTLY_S: Final = 10.0
"""For how long after a long piece the next ones of its kind and organization wait for a turn."""

_COSTLY_MAX: Final = 10_000
"""Organizations whose pieces were long; those used longest ago are forgotten."""


class LongWork:
    """Of one process; belongs to its event loop. `processor_s`: the processor time of its thread so far."""

    def __init__(self, processor_s: Callable[[], float] = time.thread_time) -> None:
        self._processor_s = processor_s
        self._free = asyncio.Lock()
        # One piece of each organization waits for its turn. The others wait for that one.
        self._of_organization: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._costly_until_s = Lru[tuple[str, str], float](_COSTLY_MAX)

    @asynccontextmanager
    async def turn(self, organization_id: str) -> AsyncIterator[None]:
        """For a block that does one piece for this organization, and awaits nothing. After it there is a pause as
        long as it took."""
        own = self._of_organization.setdefault(organization_id, asyncio.Lock())
        async with own:
            await self._free.acquire()
            began_s = self._processor_s()
            try:
                yield
            finally:
                pause_s = min(self._processor_s() - began_s, PAUSE_MAX_S)
                asyncio.get_running_loop().call_later(pause_s, self._free.release)

    @asynccontextmanager
    async def reading(self, organization_id: str, characters: int) -> AsyncIterator[None]:
        """For a block that reads or compiles expressions of so many characters together, and awaits nothing."""
        async with self._turn_if(characters > CHARACTERS, organization_id):
            yield

    @asynccontextmanager
    async def verifying(self, organization_id: str, passkeys: int) -> AsyncIterator[None]:
        """For a block that verifies the passkeys of one user, of a request that has so many passkeys in all."""
        async with self._turn_if(passkeys > PASSKEYS, organization_id):
            yield

    @asynccontextmanager
    async def _turn_if(self, is_long: bool, organization_id: str) -> AsyncIterator[None]:
        if is_long:
            async with self.turn(organization_id):
                yield
        else:
            yield
            await asyncio.sleep(0)

    async def decided(self, organization_id: str, decide: Callable[[], T]) -> T:
        """The value of a decision by the policies of an organization. It waits for a turn if one of the
        organization was long a moment ago."""
        return await self._done((organization_id, "decision"), decide)

    async def parsed(self, organization_id: str, parse: Callable[[], T]) -> T:
        """The same for reading or writing a transaction or payload."""
        return await self._done((organization_id, "transaction"), parse)

    async def _done(self, kind: tuple[str, str], work: Callable[[], T]) -> T:
        if (self._costly_until_s.get(kind) or 0.0) < time.monotonic():
            return self._timed(kind, work)
        async with self.turn(kind[0]):
            return self._timed(kind, work)

    def _timed(self, kind: tuple[str, str], work: Callable[[], T]) -> T:
        began_s = self._processor_s()
        try:
            return work()
        finally:
            if self._processor_s() - began_s > LONG_S:
                self._costly_until_s.put(kind, time.monotonic() + COSTLY_S)
