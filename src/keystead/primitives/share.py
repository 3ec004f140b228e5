"""The share of the processor that each owner of work gets. A process has one object, for its event loop.

Work belongs to an owner: an organization, or an address before it is known who asks. Its processor time is measured
and charged to the owner. Short work of an owner without debt is done at once. All other work waits for its turn:
there is one turn at a time, the owner with the least debt is next, and while several owners work, a pause as long
as the turn follows, in which other requests run. Not here: bounds of the work of one request, refusals
(`server.limits.rate_limits`), how many requests of an organization run (`server.limits.concurrency_limit`)."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from enum import Enum
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from keystead.primitives.lru import Lru

T = TypeVar("T")
ResultT = TypeVar("ResultT")

SLICE_S: Final = 0.005
"""Seconds of processor time. Work that takes longer waits for its turn; work that can be divided ends a turn after
this time; an owner whose debt is longer waits. Shorter turns make the others wait less, and cost more."""

SHARE: Final = 0.5
"""The part of the processor that an owner may use without debt."""

SHARED_S: Final = 10.0
"""For this many seconds after work of one owner followed work of another, a pause follows each turn."""

OWNERS_MAX: Final = 10_000
"""The most owners and kinds of work that are remembered. The least recently used is forgotten first."""

_TIMER_S: Final = 0.001
"""Timers of the event loop are not more precise than this, in seconds. After a shorter turn, other tasks run
once."""

_FORGET: Final = 0.9
"""The share of an expected time that stays after work that took less. One short piece of work does not make the
next one of its owner count as short."""


class Work(Enum):
    """A kind of work. The time that it takes depends on the owner (its policies, its payloads), or only on its
    size."""

    DECISION = "evaluating policies"
    TRANSACTION = "reading, describing or assembling a transaction"
    EXPLANATION = "explaining decisions, warnings about policies"
    COMPILING = "compiling expressions; its size is in characters"
    PASSKEYS = "verifying new passkeys; its size is their number"
    BODY = "verifying and reading a request; its size is in bytes"

    @property
    def depends_on_owner(self) -> bool:
        return self in _OF_OWNER


_OF_OWNER = frozenset({Work.DECISION, Work.TRANSACTION, Work.EXPLANATION})


async def pause() -> None:
    """Let other tasks run once."""
    await asyncio.sleep(0)


class Share:
    """Divides the processor time of one event loop among owners of work: who used more than its share is in debt,
    and waits.

    `processor_s`: the processor time of the thread, `clock_s`: a monotonic clock; both in seconds.
    """

    def __init__(
        self,
        processor_s: Callable[[], float] = time.thread_time,
        clock_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._processor_s = processor_s
        self._clock_s = clock_s
        self._expected_s = Lru[tuple[Work, str], float](OWNERS_MAX)
        """The seconds that a unit of size is expected to take, of kinds and owners whose work was long."""
        self._debts_until_s: dict[str, float] = {}
        """When the debt of each owner ends. A debt falls as time goes on."""
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._is_taken = False
        self._dividing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._last_owner = ""
        self._shared_until_s = 0.0

    def note(self, owner: str) -> None:
        """Note that this owner sends requests."""
        if owner != self._last_owner:
            if self._last_owner:
                self._shared_until_s = self._clock_s() + SHARED_S
            self._last_owner = owner

    @property
    def is_shared(self) -> bool:
        """Whether several owners have sent requests in the last seconds."""
        return self._clock_s() < self._shared_until_s

    async def run(self, owner: str, kind: Work, work: Callable[[], T], size: int = 1) -> T:
        """Call `work`, and return its value. `size`: how much work of its kind it is."""
        key = (kind, owner if kind in _OF_OWNER else "")
        expected_s = self._expected_s.get(key) if self._expected_s.size else None
        if (expected_s is None or expected_s * size <= SLICE_S) and self._has_no_debt(owner):
            return self._measure(owner, key, size, work)
        async with self._turn(owner):
            return self._measure(owner, key, size, work)

    async def each(self, owner: str, work: Callable[[T], ResultT], items: Iterable[T]) -> list[ResultT]:
        """What `work` returns for each item. Other work runs between the items.

        After the first slice, the works of an owner wait for each other. Otherwise the incomplete results of all of
        them would be in memory at the same time.
        """
        left, results = iter(items), list[ResultT]()
        if self._has_no_debt(owner) and self._slice(owner, work, left, results):
            return results
        lock = self._dividing.setdefault(owner, asyncio.Lock())
        async with lock:
            is_over = False
            while not is_over:
                await pause()
                async with self._turn(owner):
                    is_over = self._slice(owner, work, left, results)
        return results

    def _has_no_debt(self, owner: str) -> bool:
        until_s = self._debts_until_s.get(owner)
        return until_s is None or until_s - self._clock_s() <= SLICE_S / SHARE

    def _measure(self, owner: str, key: tuple[Work, str], size: int, work: Callable[[], T]) -> T:
        began_s = self._processor_s()
        try:
            return work()
        finally:
            used_s = self._processor_s() - began_s
            self._charge(owner, used_s)
            if used_s > SLICE_S or self._expected_s.size:
                self._learn(key, used_s / max(size, 1), is_long=used_s > SLICE_S)

    def _learn(self, key: tuple[Work, str], unit_s: float, *, is_long: bool) -> None:
        known_s = self._expected_s.peek(key)
        if known_s is not None or is_long:
            self._expected_s.put(key, max(unit_s, _FORGET * (known_s or 0.0)))

    def _charge(self, owner: str, used_s: float) -> None:
        now_s, debts = self._clock_s(), self._debts_until_s
        debts[owner] = max(debts.get(owner, now_s), now_s) + used_s / SHARE
        if len(debts) > OWNERS_MAX:
            self._debts_until_s = {owner: until_s for owner, until_s in debts.items() if until_s > now_s}

    def _slice(self, owner: str, work: Callable[[T], ResultT], left: Iterator[T], results: list[ResultT]) -> bool:
        """Work until the time is over. Returns whether no item is left."""
        began_s, ends_s = self._processor_s(), self._clock_s() + SLICE_S
        try:
            for item in left:
                results.append(work(item))
                if self._clock_s() > ends_s:
                    return False
            return True
        finally:
            self._charge(owner, self._processor_s() - began_s)

    @asynccontextmanager
    async def _turn(self, owner: str) -> AsyncIterator[None]:
        """For a block that awaits nothing."""
        if self._is_taken:
            await self._wait(owner)
        self._is_taken = True
        began_s = self._processor_s()
        try:
            yield
        finally:
            used_s = self._processor_s() - began_s
            loop = asyncio.get_running_loop()
            if self.is_shared and used_s >= _TIMER_S:
                loop.call_later(used_s, self._begin_next)
            else:
                loop.call_soon(self._begin_next)

    async def _wait(self, owner: str) -> None:
        began = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(began)
        try:
            await began
        except asyncio.CancelledError:
            if not began.cancelled():  # its turn has begun
                self._begin_next()
            raise

    def _debt_until_s(self, owner: str) -> float:
        return self._debts_until_s.get(owner, 0.0)

    def _begin_next(self) -> None:
        """Begin the turn of the owner with the least debt that waits."""
        self._is_taken = False
        while self._waiting:
            owner = min(self._waiting, key=self._debt_until_s)
            futures = self._waiting[owner]
            began = futures.popleft()
            if not futures:
                del self._waiting[owner]
            if not began.cancelled():
                self._is_taken = True
                began.set_result(None)
                return
