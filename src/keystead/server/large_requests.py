"""Large bodies are verified and read one after the other. Other requests run in between.

A body of 1 MiB can hold the event loop for tens of milliseconds. Without this, every caller would wait for all such
bodies that arrived at the same time. Not here: the limit of a body's size (`connection`), reading (`api.decoding`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Final

LARGE_BYTES: Final = 16 * 1024
"""A smaller body is read in about a millisecond, and waits for no other."""

PAUSE_MAX_S: Final = 0.1
"""The longest pause after a large body, in seconds. The block may wait for a slow database, which needs no
pause."""


class LargeRequests:
    """Belongs to the event loop of one process."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._no_wait = nullcontext()

    def turn(self, body: bytes) -> AbstractAsyncContextManager[None]:
        """A context for the block that reads `body`. A large body waits for the large bodies before it; after the
        block there is a pause as long as the block took. A cancelled caller loses its turn."""
        return self._no_wait if len(body) < LARGE_BYTES else self._turn()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        await self._lock.acquire()
        began_s = time.perf_counter()
        try:
            yield
        finally:
            took_s = time.perf_counter() - began_s
            asyncio.get_running_loop().call_later(min(took_s, PAUSE_MAX_S), self._lock.release)
