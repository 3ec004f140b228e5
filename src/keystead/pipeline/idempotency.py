"""Requests of equal bytes: a process works on one of them at a time, the others wait for it.

Here: the requests in flight, and those that ended recently. Not here: activities on record (`lifecycle`, `store`).
"""

from __future__ import annotations

import asyncio

from keystead.primitives.lru import Lru

RequestKey = tuple[str, str]
"""The id of the organization, and the fingerprint of the request's bytes."""

RECENT_MAX = 10_000
"""How many requests are remembered after they ended."""


class InFlightRequests:
    """The requests that this process works on. Belongs to one event loop."""

    def __init__(self) -> None:
        self._in_flight: dict[RequestKey, asyncio.Future[None]] = {}
        self._recent = Lru[RequestKey, bool](RECENT_MAX)

    async def join(self, key: RequestKey) -> bool:
        """Wait until no other request of this key is in flight. Returns whether one ended here recently.

        The caller must call `finish` afterwards.
        """
        while (earlier := self._in_flight.get(key)) is not None:
            await asyncio.shield(earlier)
        self._in_flight[key] = asyncio.get_running_loop().create_future()
        return self._recent.peek(key) is not None

    def finish(self, key: RequestKey) -> None:
        """End the request, so that the next equal one begins."""
        self._in_flight.pop(key).set_result(None)
        self._recent.put(key, True)
