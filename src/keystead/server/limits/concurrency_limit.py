"""An adaptive limit on the requests of one organization that run at the same time.

It prevents many requests of one organization from delaying the others. It applies while several organizations send
requests, and it changes with the load of the process. Requests above it wait in the order of their arrival. Not
here: refusals (`rate_limits`), the queue of changes to one organization (`pipeline.organization_writer`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import Enum
from typing import Final

from keystead.primitives.share import Share

LIMIT_MIN: Final = 2
"""The lowest limit. An organization may always have this many requests of each group under way."""

BUSY_SHARE: Final = 0.6
"""The limit falls while the process uses more than this share of a processor. Otherwise it rises while requests
wait. All threads count, because the event loop waits for the others: one thread runs Python at a time."""

LATE_S: Final = 0.02
"""A timer that is later than this also shows that the event loop is busy. Where the process does not get a whole
processor, its share says little."""

INTERVAL_S: Final = 0.1
"""Seconds between two measurements of the share. Each measurement changes the limit at most once."""


class RequestGroup(Enum):
    """The requests of an organization that wait for each other. Those of another group do not delay them."""

    DIRECT = "of its users and servers"
    PROXY = "of its authentication proxies, which strangers call"
    ISSUER = "submissions with ID tokens or for a provider: a server on the internet is asked, for seconds"


_GroupKey = tuple[str, RequestGroup]
"""The id of an organization, and a group of its requests."""


class _GroupRequests:
    """The requests of one group: how many run, and those that wait for their start."""

    def __init__(self) -> None:
        self.under_way = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class ConcurrencyLimit:
    """The limit of one process. It belongs to the event loop of that process.

    `share` knows whether several organizations send requests: the limit applies while they do. `clock_s`: a
    monotonic clock. `processor_s`: the processor time of the process. Both in seconds."""

    def __init__(
        self,
        share: Share,
        clock_s: Callable[[], float] = time.monotonic,
        processor_s: Callable[[], float] = time.process_time,
    ) -> None:
        self._share = share
        self._clock_s = clock_s
        self._processor_s = processor_s
        self._measured_s, self._used_s = clock_s(), processor_s()
        self._limit = LIMIT_MIN
        self._groups: dict[_GroupKey, _GroupRequests] = {}
        self.waiting = 0
        """How many requests wait now."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_is_due_s = 0.0
        self._was_late = False

    @asynccontextmanager
    async def slot(self, organization_id: str, group: RequestGroup = RequestGroup.DIRECT) -> AsyncIterator[bool]:
        """Wait until the organization may have another request of this group under way. The block then answers it.

        The block gets whether the request has waited.
        """
        self._share.note(organization_id)
        key = organization_id, group
        requests = self._groups.get(key)
        if requests is None:
            requests = self._groups[key] = _GroupRequests()
        now_s = self._clock_s()
        if now_s - self._measured_s >= INTERVAL_S:
            self._adjust(now_s)
        waits = requests.under_way >= self._limit and self._share.is_shared
        if waits:
            await self._wait_for_start(key, requests)
        else:
            requests.under_way += 1
        try:
            yield waits
        finally:
            self._end(key, requests)

    async def _wait_for_start(self, key: _GroupKey, requests: _GroupRequests) -> None:
        started = asyncio.get_running_loop().create_future()
        requests.waiting.append(started)
        self.waiting += 1
        if self._timer is None:
            self._start_timer()
        try:
            await started
        except asyncio.CancelledError:
            if started in requests.waiting:
                requests.waiting.remove(started)
                self.waiting -= 1
            elif not started.cancelled():  # it was started before
                self._end(key, requests)
            raise

    def _end(self, key: _GroupKey, requests: _GroupRequests) -> None:
        requests.under_way -= 1
        if requests.waiting:
            self._start_waiting(requests)
        if not requests.under_way:
            del self._groups[key]

    def _start_waiting(self, requests: _GroupRequests) -> None:
        is_shared = self._share.is_shared
        while requests.waiting and (requests.under_way < self._limit or not is_shared):
            started = requests.waiting.popleft()
            self.waiting -= 1
            if not started.cancelled():
                started.set_result(None)
                requests.under_way += 1

    def _adjust(self, now_s: float) -> None:
        """An interval is over: lower the limit by a quarter, or raise it by one."""
        used_s = self._processor_s()
        is_busy = self._was_late or used_s - self._used_s > BUSY_SHARE * (now_s - self._measured_s)
        self._measured_s, self._used_s, self._was_late = now_s, used_s, False
        if is_busy:
            self._limit = max(LIMIT_MIN, self._limit * 3 // 4)
        elif self.waiting:
            self._limit += 1

    def _readjust(self) -> None:
        """While requests wait, change the limit and start the requests that it permits, even if no request comes or
        ends."""
        self._timer = None
        now_s = self._clock_s()
        self._was_late |= now_s > self._timer_is_due_s + LATE_S
        if now_s - self._measured_s >= INTERVAL_S:
            self._adjust(now_s)
        for requests in self._groups.values():
            self._start_waiting(requests)
        if self.waiting:
            self._start_timer()

    def _start_timer(self) -> None:
        self._timer_is_due_s = self._clock_s() + INTERVAL_S
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._readjust)
