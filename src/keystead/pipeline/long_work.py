"""Work that occupies the event loop for tens of milliseconds. One piece is done after the other, the organizations
take turns, and other requests run in between.

Each piece has its own limit (docs/limits.md). Here: which pieces wait for a turn. Not here: the order (`turns`),
work that can be divided (`time_slices`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, TypeVar

from keystead.pipeline.turns import Turns
from keystead.primitives.lru import Lru

T = TypeVar("T")

LONG_S: Final = 0.01
"""A piece is long if it takes more processor time than this, in seconds."""

CHARACTERS_WITHOUT_TURN_MAX: Final = 2_000
"""The most characters of expressions that are compiled without a turn. To compile more takes longer than 10 ms."""

PASSKEYS_WITHOUT_TURN_MAX: Final = 10
"""The most passkeys of one request that are verified without a turn. To verify more takes longer than 10 ms."""

TURNS_AFTER_LONG_S: Final = 600.0
"""For this many seconds after a long piece, further pieces of its kind and organization wait for a turn. An
organization does not wait before its first long piece. Therefore 40 organizations can do 40 long pieces together,
once in this time."""

_LONG_MAX: Final = 10_000
"""The most organizations whose long pieces are remembered. The least recently used is forgotten first."""


class LongWork:
    """The long work of one process. It belongs to the event loop. `processor_s`: returns the processor time of the
    thread in seconds."""

    def __init__(self, processor_s: Callable[[], float] = time.thread_time) -> None:
        self._processor_s = processor_s
        self._turns = Turns(processor_s)
        self._turns_until_s = Lru[tuple[str, str], float](_LONG_MAX)

    def turn(self, organization_id: str) -> AbstractAsyncContextManager[None]:
        """For a block that does one piece of work for this organization, and awaits nothing."""
        return self._turns.turn(organization_id)

    @asynccontextmanager
    async def compiling(self, organization_id: str, characters: int) -> AsyncIterator[None]:
        """For a block that compiles expressions with `characters` in all, and awaits nothing."""
        async with self._turn_if(characters > CHARACTERS_WITHOUT_TURN_MAX, organization_id):
            yield

    @asynccontextmanager
    async def verifying_passkeys(self, organization_id: str, passkeys: int) -> AsyncIterator[None]:
        """For a block that verifies the passkeys of one user. `passkeys`: how many passkeys the request has in
        all."""
        async with self._turn_if(passkeys > PASSKEYS_WITHOUT_TURN_MAX, organization_id):
            yield

    @asynccontextmanager
    async def _turn_if(self, is_long: bool, organization_id: str) -> AsyncIterator[None]:
        if is_long:
            async with self.turn(organization_id):
                yield
        else:
            yield
            await asyncio.sleep(0)

    async def run_decision(self, organization_id: str, work: Callable[[], T]) -> T:
        """Call `work`, a decision by the policies of an organization, and return its value. It waits for a turn if
        a decision of the organization was long a moment ago."""
        return await self._run((organization_id, "decision"), work)

    async def run_chain_work(self, organization_id: str, work: Callable[[], T]) -> T:
        """As `run_decision`, for work that reads, describes or assembles a transaction or payload."""
        return await self._run((organization_id, "transaction"), work)

    async def _run(self, kind: tuple[str, str], work: Callable[[], T]) -> T:
        if (self._turns_until_s.get(kind) or 0.0) < time.monotonic():
            return self._run_timed(kind, work)
        async with self.turn(kind[0]):
            return self._run_timed(kind, work)

    def _run_timed(self, kind: tuple[str, str], work: Callable[[], T]) -> T:
        began_s = self._processor_s()
        try:
            return work()
        finally:
            if self._processor_s() - began_s > LONG_S:
                self._turns_until_s.put(kind, time.monotonic() + TURNS_AFTER_LONG_S)
