"""Requests of several organizations share the event loop, so that one that floods does not delay the others.

While several organizations send requests, each has only so many requests under way as leave the event loop some time.
Its other requests wait in the order in which they came. With one organization no request waits. Not here: refusals
(`rate_limits`), the queue of changes to one organization (`pipeline.organization_queue`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

LEAST: Final = 2
"""Requests of an organization that may always be under way: what another organization waits for, at least."""

BUSY_SHARE: Final = 0.5
"""Above this share of a processor, used by the event loop's thread, an organization may have fewer requests under way,
below it more. The thread waits for others, such as the one that writes, so that it never reaches a whole one."""

INTERVAL_S: Final = 0.1
"""The share is measured, and the limit moved, so often."""

SHARED_S: Final = 10.0
"""The limit holds for so long after two requests in a row were of different organizations."""


class _Requests:
    """The requests of one organization."""

    def __init__(self) -> None:
        self.under_way = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class FairQueue:
    """Of one process; belongs to its event loop. `processor_s`: the processor time of the event loop's thread."""

    def __init__(
        self, clock_s: Callable[[], float] = time.monotonic, processor_s: Callable[[], float] = time.thread_time
    ) -> None:
        self._clock_s = clock_s
        self._processor_s = processor_s
        self._measured_s, self._used_s = clock_s(), processor_s()
        self._limit = LEAST
        self._organizations: dict[str, _Requests] = {}
        self._last_organization_id = ""
        self._shared_until_s = clock_s()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Requests that wait now."""
        return sum(len(requests.waiting) for requests in self._organizations.values())

    @asynccontextmanager
    async def turn(self, organization_id: str) -> AsyncIterator[None]:
        """For the block that answers a request of this organization. A cancelled caller gives its turn up."""
        now_s = self._clock_s()
        if organization_id != self._last_organization_id:
            self._last_organization_id = organization_id
            self._shared_until_s = now_s + SHARED_S
        requests = self._organizations.get(organization_id)
        if requests is None:
            requests = self._organizations[organization_id] = _Requests()
        self._adjust(now_s)
        if requests.under_way < self._limit or now_s >= self._shared_until_s:
            requests.under_way += 1
        else:
            await self._its_turn(organization_id, requests)
        try:
            yield
        finally:
            self._ended(organization_id, requests)

    async def _its_turn(self, organization_id: str, requests: _Requests) -> None:
        loop = asyncio.get_running_loop()
        started = loop.create_future()
        requests.waiting.append(started)
        if self._timer is None:
            self._timer = loop.call_later(INTERVAL_S, self._look_again)
        try:
            await started
        except asyncio.CancelledError:
            if not started.cancelled():  # its turn came while it was cancelled
                self._ended(organization_id, requests)
            raise

    def _ended(self, organization_id: str, requests: _Requests) -> None:
        requests.under_way -= 1
        self._start(requests)
        if not requests.under_way:
            del self._organizations[organization_id]

    def _start(self, requests: _Requests) -> None:
        is_shared = self._clock_s() < self._shared_until_s
        while requests.waiting and (requests.under_way < self._limit or not is_shared):
            started = requests.waiting.popleft()
            if not started.cancelled():
                started.set_result(None)
                requests.under_way += 1

    def _adjust(self, now_s: float) -> None:
        """Move the limit, when an interval is over: down while the event loop is busy, up while requests wait."""
        if now_s - self._measured_s < INTERVAL_S:
            return
        used_s = self._processor_s()
        is_busy = used_s - self._used_s > BUSY_SHARE * (now_s - self._measured_s)
        self._measured_s, self._used_s = now_s, used_s
        if is_busy:
            self._limit = max(LEAST, self._limit * 3 // 4)
        elif self._timer is not None:
            self._limit += 1

    def _look_again(self) -> None:
        """Start what the limit, which may have moved, leaves room for."""
        self._timer = None
        self._adjust(self._clock_s())
        for requests in self._organizations.values():
            self._start(requests)
        if self.waiting:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._look_again)
