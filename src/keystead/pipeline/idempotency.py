"""Requests of equal bytes: a process works on one of them at a time, the others wait for it.

Here: the requests in flight, and those that ended recently. Not here: activities on record (`lifecycle`, `store`).
"""

from __future__ import annotations

import asyncio
from collections import deque

from keystead.primitives.lru import Lru

RequestKey = tuple[str, str]
"""The id of the organization, and the fingerprint of the request's bytes."""

RECENT_MAX = 10_000
"""How many requests are remembered after they ended."""


class InFlightRequests:
    """The requests that this process works on. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[RequestKey, deque[asyncio.Future[None]]] = {}
        """The requests that wait for each key that is in flight, in their order."""
        self._recent = Lru[RequestKey, bool](RECENT_MAX)

    async def join(self, key: RequestKey) -> bool:
        """Wait until no other request of this key is in flight. Returns whether one ended here recently.

        The caller must call `finish` afterwards.
        """
        waiting = self._waiting.get(key)
        if waiting is None:
            self._waiting[key] = deque()
        else:
            turn = asyncio.get_running_loop().create_future()
            waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # its turn came before
                    self._next(key)
                raise
        return self._recent.peek(key) is not None

    def finish(self, key: RequestKey) -> None:
        self._recent.put(key, True)
        self._next(key)

    def _next(self, key: RequestKey) -> None:
        """Give the turn to the request that waits longest, and to no other: thousands may wait."""
        waiting = self._waiting[key]
        while waiting:
            turn = waiting.popleft()
            if not turn.cancelled():
                turn.set_result(None)
                return
        del self._waiting[key]
