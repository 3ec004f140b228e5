"""An answer that is computed at most once a second, for pages that need no stamp and cost a call to the signer.

Not here: which pages these are (`application`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

KEPT_S: Final = 1.0


class OncePerSecond:
    """`find` returns the answer or raises a refusal. Concurrent callers share one call of it, and callers within
    the next second get the same outcome. Belongs to one event loop."""

    def __init__(self, find: Callable[[], Awaitable[bytes]]) -> None:
        self._find = find
        self._finding: asyncio.Task[bytes] | None = None
        self._until_s = 0.0

    async def answer(self) -> bytes:
        """The answer of `find`, or the error that it raised."""
        if self._finding is None or (self._finding.done() and time.monotonic() >= self._until_s):
            self._finding = asyncio.ensure_future(self._found())
        return await asyncio.shield(self._finding)

    def forget(self) -> None:
        """Call `find` again for the next caller, after something has failed.

        A call of `find` that is under way may have begun before the failure. Its callers get its outcome, later
        callers do not.
        """
        self._finding = None

    async def _found(self) -> bytes:
        try:
            return await self._find()
        finally:
            if asyncio.current_task() is self._finding:
                self._until_s = time.monotonic() + KEPT_S
