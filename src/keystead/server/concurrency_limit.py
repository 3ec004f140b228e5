"""An adaptive limit of the requests that one organization has under way, so that a flood delays no other.

It holds while several organizations send requests, and follows how busy the process is. Requests above it wait in
the order in which they came. Not here: refusals (`rate_limits`), the queue of changes to one organization
(`pipeline.organization_queue`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

LEAST: Final = 2
"""The lowest limit: so many requests of an organization may always be under way."""

BUSY_SHARE: Final = 0.6
"""The limit falls while the process uses more than this share of a processor, and else rises while requests wait.
Threads that render large answers count, because the event loop waits for them: one thread runs Python at a time."""

LATE_S: Final = 0.02
"""A timer that is later than this shows that the event loop is busy, too: where the process does not get a whole
processor, its share says little."""

INTERVAL_S: Final = 0.1
"""Seconds between two measurements of the share. Each moves the limit once."""

SHARED_S: Final = 10.0
"""The limit holds for so long after two requests in a row were of different organizations."""


class _OrganizationRequests:
    """The requests of one organization, or those of its authentication proxies."""

    def __init__(self) -> None:
        self.under_way = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


_Key = tuple[str, bool]
"""The id of an organization, and whether the requests are those of its authentication proxies."""


class ConcurrencyLimit:
    """Of one process; belongs to its event loop.

    `clock_s`: a monotonic clock. `processor_s`: the processor time of the process. Both in seconds.
    """

    def __init__(
        self, clock_s: Callable[[], float] = time.monotonic, processor_s: Callable[[], float] = time.process_time
    ) -> None:
        self._clock_s = clock_s
        self._processor_s = processor_s
        self._measured_s, self._used_s = clock_s(), processor_s()
        self._limit = LEAST
        self._organizations: dict[_Key, _OrganizationRequests] = {}
        self._last_organization_id: str | None = None
        self._shared_until_s = clock_s()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_is_due_s = 0.0
        self._was_late = False

    @property
    def waiting(self) -> int:
        """How many requests wait now."""
        return sum(len(requests.waiting) for requests in self._organizations.values())

    def note(self, organization_id: str) -> None:
        """Note that the organization sent a request, for one that needs no turn."""
        now_s = self._clock_s()
        if self._last_organization_id not in (organization_id, None):
            self._shared_until_s = now_s + SHARED_S
        self._last_organization_id = organization_id

    @asynccontextmanager
    async def turn(self, organization_id: str, *, of_proxy: bool = False) -> AsyncIterator[bool]:
        """Wait until the organization may have another request under way, which the block then answers.

        The block gets whether the request has waited. `of_proxy`: of an authentication proxy, which strangers call.
        They have as many turns again, so that the organization's own users and servers do not wait for them.
        """
        self.note(organization_id)
        key = organization_id, of_proxy
        requests = self._organizations.get(key)
        if requests is None:
            requests = self._organizations[key] = _OrganizationRequests()
        now_s = self._clock_s()
        self._adjust(now_s)
        waits = requests.under_way >= self._limit and now_s < self._shared_until_s
        if waits:
            await self._started(key, requests)
        else:
            requests.under_way += 1
        try:
            yield waits
        finally:
            self._ended(key, requests)

    async def _started(self, key: _Key, requests: _OrganizationRequests) -> None:
        started = asyncio.get_running_loop().create_future()
        requests.waiting.append(started)
        if self._timer is None:
            self._start_timer()
        try:
            await started
        except asyncio.CancelledError:
            if started in requests.waiting:
                requests.waiting.remove(started)
            elif not started.cancelled():  # its turn came before
                self._ended(key, requests)
            raise

    def _ended(self, key: _Key, requests: _OrganizationRequests) -> None:
        requests.under_way -= 1
        self._start(requests)
        if not requests.under_way:
            del self._organizations[key]

    def _start(self, requests: _OrganizationRequests) -> None:
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
        is_busy = self._was_late or used_s - self._used_s > BUSY_SHARE * (now_s - self._measured_s)
        self._measured_s, self._used_s, self._was_late = now_s, used_s, False
        if is_busy:
            self._limit = max(LEAST, self._limit * 3 // 4)
        elif self.waiting:
            self._limit += 1

    def _look_again(self) -> None:
        """While requests wait, move the limit and start what it has room for, even if no request comes or ends."""
        self._timer = None
        now_s = self._clock_s()
        self._was_late |= now_s > self._timer_is_due_s + LATE_S
        self._adjust(now_s)
        for requests in self._organizations.values():
            self._start(requests)
        if self.waiting:
            self._start_timer()

    def _start_timer(self) -> None:
        self._timer_is_due_s = self._clock_s() + INTERVAL_S
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._look_again)
