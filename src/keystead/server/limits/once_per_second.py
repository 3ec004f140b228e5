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
    """`compute` returns the answer or raises a refusal. Concurrent callers share one call of it, and callers within
    the next second get the same result. Belongs to one event loop."""

    def __init__(self, compute: Callable[[], Awaitable[bytes]]) -> None:
        self._compute = compute
        self._computation: asyncio.Task[bytes] | None = None
        self._until_s = 0.0

    async def answer(self) -> bytes:
        """The answer of `compute`, or the error that it raised."""
        if self._computation is None or (self._computation.done() and time.monotonic() >= self._until_s):
            self._computation = asyncio.ensure_future(self._compute_once())
        return await asyncio.shield(self._computation)

    def forget(self) -> None:
        """Keep no answer from before a failure: call `compute` again for the next caller.

        A call of `compute` that is under way may have begun before the failure. Its callers get its result, later
        callers do not. An error that `compute` raised is kept: it says the same, and many callers may ask.
        """
        if not self._has_failed():
            self._computation = None

    def _has_failed(self) -> bool:
        computation = self._computation
        if computation is None or not computation.done() or computation.cancelled():
            return False
        return computation.exception() is not None

    async def _compute_once(self) -> bytes:
        try:
            return await self._compute()
        finally:
            if asyncio.current_task() is self._computation:
                self._until_s = time.monotonic() + KEPT_S
