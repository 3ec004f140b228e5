"""Requests of equal bytes: this process works on one of them at a time, the others wait for it.

Here: which requests are in flight, and which ended lately. Not here: activities on record (`lifecycle`, `store`).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

RequestKey = tuple[str, str]
"""The id of the organization, and the fingerprint of the request's bytes."""

RECENT_MAX = 10_000
"""How many requests are remembered after they ended."""


class InFlightRequests:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._in_flight: dict[RequestKey, asyncio.Future[None]] = {}
        self._recent: OrderedDict[RequestKey, None] = OrderedDict()

    async def join(self, key: RequestKey) -> bool:
        """Wait until no other request of this key is in flight. Whether one ended here lately.

        The caller must call `finish` afterwards.
        """
        while (earlier := self._in_flight.get(key)) is not None:
            await asyncio.shield(earlier)
        self._in_flight[key] = asyncio.get_running_loop().create_future()
        return key in self._recent

    def finish(self, key: RequestKey) -> None:
        self._in_flight.pop(key).set_result(None)
        self._recent[key] = None
        if len(self._recent) > RECENT_MAX:
            self._recent.popitem(last=False)
