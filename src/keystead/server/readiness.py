"""Whether this process can serve, asked at most once a second.

Each check costs the database and the signer a call. Not here: what is checked (`service`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

KEPT_S = 1.0


class Readiness:
    """`check` gives the answer or raises Unavailable. Callers at the same time share one check, and those within a
    second after it its outcome. Belongs to one event loop."""

    def __init__(self, check: Callable[[], Awaitable[bytes]]) -> None:
        self._check = check
        self._checking: asyncio.Task[bytes] | None = None
        self._until_s = 0.0

    async def answer(self) -> bytes:
        """Raises what the check raises."""
        if self._checking is None or (self._checking.done() and time.monotonic() >= self._until_s):
            self._checking = asyncio.ensure_future(self._checked())
        return await asyncio.shield(self._checking)

    def forget(self) -> None:
        """Check again for the next caller: something has just failed."""
        self._until_s = 0.0

    async def _checked(self) -> bytes:
        try:
            return await self._check()
        finally:
            self._until_s = time.monotonic() + KEPT_S
