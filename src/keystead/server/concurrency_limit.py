"""An adaptive limit on the requests of one organization that run at the same time.

It prevents many requests of one organization from delaying the others. It applies while several organizations send
requests, and it changes with the load of the event loop. Requests above it wait in the order of their arrival. Not
here: refusals (`rate_limits`), the queue of changes to one organization (`pipeline.organization_queue`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

LIMIT_MIN: Final = 2
"""The lowest limit. An organization may always have this many requests under way."""

BUSY_SHARE: Final = 0.5
"""The limit falls while the event loop's thread uses more than this share of a processor. Otherwise it rises while
requests wait. The thread also waits for other threads, such as the one that writes, so even an overload uses only
0.7."""

INTERVAL_S: Final = 0.1
"""Seconds between two measurements of the share. Each measurement changes the limit at most once."""

SHARED_S: Final = 10.0
"""Seconds for which the limit applies after two successive requests came from different organizations."""


class _OrganizationRequests:
    """The requests of one organization: how many run, and those that wait for their start."""

    def __init__(self) -> None:
        self.under_way = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class ConcurrencyLimit:
    """The limit of one process. It belongs to the event loop of that process.

    `clock_s`: a monotonic clock. `processor_s`: the processor time of the event loop's thread. Both in seconds.
    """

    def __init__(
        self, clock_s: Callable[[], float] = time.monotonic, processor_s: Callable[[], float] = time.thread_time
    ) -> None:
        self._clock_s = clock_s
        self._processor_s = processor_s
        self._measured_s, self._used_s = clock_s(), processor_s()
        self._limit = LIMIT_MIN
        self._organizations: dict[str, _OrganizationRequests] = {}
        self._last_organization_id: str | None = None
        self._shared_until_s = clock_s()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many requests wait now."""
        return sum(len(requests.waiting) for requests in self._organizations.values())

    @asynccontextmanager
    async def turn(self, organization_id: str) -> AsyncIterator[bool]:
        """Wait until the organization may have another request under way, which the block then answers.

        The block gets whether the request has waited.
        """
        now_s = self._clock_s()
        if self._last_organization_id not in (organization_id, None):
            self._shared_until_s = now_s + SHARED_S
        self._last_organization_id = organization_id
        requests = self._organizations.get(organization_id)
        if requests is None:
            requests = self._organizations[organization_id] = _OrganizationRequests()
        self._adjust(now_s)
        waits = requests.under_way >= self._limit and now_s < self._shared_until_s
        if waits:
            await self._wait_for_start(organization_id, requests)
        else:
            requests.under_way += 1
        try:
            yield waits
        finally:
            self._end(organization_id, requests)

    async def _wait_for_start(self, organization_id: str, requests: _OrganizationRequests) -> None:
        loop = asyncio.get_running_loop()
        started = loop.create_future()
        requests.waiting.append(started)
        if self._timer is None:
            self._timer = loop.call_later(INTERVAL_S, self._readjust)
        try:
            await started
        except asyncio.CancelledError:
            if started in requests.waiting:
                requests.waiting.remove(started)
            elif not started.cancelled():  # its turn came before
                self._end(organization_id, requests)
            raise

    def _end(self, organization_id: str, requests: _OrganizationRequests) -> None:
        requests.under_way -= 1
        self._start_waiting(requests)
        if not requests.under_way:
            del self._organizations[organization_id]

    def _start_waiting(self, requests: _OrganizationRequests) -> None:
        is_shared = self._clock_s() < self._shared_until_s
        while requests.waiting and (requests.under_way < self._limit or not is_shared):
            started = requests.waiting.popleft()
            if not started.cancelled():
                started.set_result(None)
                requests.under_way += 1

    def _adjust(self, now_s: float) -> None:
        """At the end of an interval, lower the limit by a quarter, or raise it by one."""
        if now_s - self._measured_s < INTERVAL_S:
            return
        used_s = self._processor_s()
        is_busy = used_s - self._used_s > BUSY_SHARE * (now_s - self._measured_s)
        self._measured_s, self._used_s = now_s, used_s
        if is_busy:
            self._limit = max(LIMIT_MIN, self._limit * 3 // 4)
        elif self.waiting:
            self._limit += 1

    def _readjust(self) -> None:
        """While requests wait, change the limit and start the requests that it permits, even if no request comes or
        ends."""
        self._timer = None
        self._adjust(self._clock_s())
        for requests in self._organizations.values():
            self._start_waiting(requests)
        if self.waiting:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._readjust)
