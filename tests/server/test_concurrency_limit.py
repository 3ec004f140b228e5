"""Requests that one organization has under way while others send requests. Order is compared, never times."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

import pytest

from keystead.primitives.share import SHARED_S, Share
from keystead.server.limits.concurrency_limit import INTERVAL_S, LIMIT_MIN, ConcurrencyLimit, RequestGroup
from tests.support.hanging import PATIENCE_S


class Machine:
    """A clock, the processor time of the event loop, and requests that stay under way until they are answered."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.used_s = 0.0
        self.share = Share(lambda: 0.0, lambda: self.now_s)
        self.limit = ConcurrencyLimit(self.share, lambda: self.now_s, lambda: self.used_s)
        self.under_way: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._answered: dict[str, asyncio.Event] = {}

    async def send(self, *names: str) -> None:
        """The first character of a name is the organization."""
        for name in names:
            self._answered[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._request(name))
            await _settled()

    async def _request(self, name: str) -> None:
        async with self.limit.slot(name[0]):
            self.under_way.append(name)
            try:
                await self._answered[name].wait()
            finally:
                self.under_way.remove(name)

    async def answer(self, name: str) -> None:
        self._answered[name].set()
        await self._tasks.pop(name)
        await _settled()

    async def cancel(self, name: str) -> None:
        task = self._tasks.pop(name)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await _settled()

    def passes(self, seconds: float, *, share: float) -> None:
        """Time passes, of which the event loop uses this share of a processor."""
        self.now_s += seconds
        self.used_s += seconds * share

    async def looks_again(self) -> None:
        """Long enough for the timer, which is of the real clock."""
        await asyncio.sleep(INTERVAL_S * 1.2)

    async def answer_all(self) -> None:
        while self._tasks:
            for name in [name for name in self._tasks if name in self.under_way]:
                await self.answer(name)


def still_limit() -> ConcurrencyLimit:
    """A limit for which no time passes."""
    return ConcurrencyLimit(Share(lambda: 0.0, lambda: 0.0), lambda: 0.0, lambda: 0.0)


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def one_organization_never_waits(machine: Machine) -> None:
    await machine.send("a1", "a2", "a3", "a4")
    assert machine.under_way == ["a1", "a2", "a3", "a4"]


async def above_the_limit_requests_wait_in_their_order(machine: Machine) -> None:
    await machine.send("b1", "a1", "a2", "a3", "a4")
    assert machine.under_way == ["b1", "a1", "a2"]
    assert machine.limit.waiting == 2
    await machine.answer("a2")
    assert machine.under_way == ["b1", "a1", "a3"]
    await machine.answer("a1")
    assert machine.under_way == ["b1", "a3", "a4"]


async def others_are_served_at_once(machine: Machine) -> None:
    await machine.send("b1", *(f"a{number}" for number in range(20)))
    await machine.send("c1", "d1", "b2")
    assert machine.under_way == ["b1", "a0", "a1", "c1", "d1", "b2"]


async def what_was_under_way_before_the_other_came_is_not_cut_off(machine: Machine) -> None:
    await machine.send("a1", "a2", "a3", "a4", "b1", "a5")
    assert machine.under_way == ["a1", "a2", "a3", "a4", "b1"]
    for name in ("a1", "a2"):
        await machine.answer(name)
    assert "a5" not in machine.under_way
    await machine.answer("a3")
    assert machine.under_way == ["a4", "b1", "a5"]


async def a_request_that_needs_no_turn_counts(machine: Machine) -> None:
    await machine.send("a1")
    machine.share.note("b")
    await machine.send("a2", "a3")
    assert machine.under_way == ["a1", "a2"]


async def alone_again_nothing_waits(machine: Machine) -> None:
    await machine.send("b1", "a1", "a2", "a3")
    await machine.answer("b1")
    machine.passes(SHARED_S, share=1)
    await machine.looks_again()
    assert machine.under_way == ["a1", "a2", "a3"]


async def the_limit_rises_while_the_event_loop_has_time(machine: Machine) -> None:
    await machine.send("b1", *(f"a{number}" for number in range(5)))
    for room in (3, 4, 5):
        machine.passes(INTERVAL_S, share=0.1)
        await machine.looks_again()
        assert len(machine.under_way) == 1 + room


async def the_limit_falls_while_the_event_loop_is_busy(machine: Machine) -> None:
    await machine.send("b1", *(f"a{number}" for number in range(8)))
    for _ in range(2):
        machine.passes(INTERVAL_S, share=0.1)
        await machine.looks_again()
    assert machine.under_way == ["b1", "a0", "a1", "a2", "a3"]
    machine.passes(INTERVAL_S, share=0.9)
    await machine.looks_again()
    await machine.answer("a0")
    assert machine.under_way == ["b1", "a1", "a2", "a3"]
    for _ in range(3):
        machine.passes(INTERVAL_S, share=0.9)
        await machine.looks_again()
    for name in ("a1", "a2"):
        await machine.answer(name)
    assert machine.under_way == ["b1", "a3", "a4"]
    assert LIMIT_MIN == 2


async def a_late_timer_shows_that_the_event_loop_is_busy(machine: Machine) -> None:
    await machine.send("b1", *(f"a{number}" for number in range(8)))
    for seconds in (INTERVAL_S, 2 * INTERVAL_S):
        machine.passes(seconds, share=0.1)
        await machine.looks_again()
        assert machine.under_way == ["b1", "a0", "a1", "a2"]
    await machine.answer("a0")
    assert machine.under_way == ["b1", "a1", "a2"]


async def without_a_flood_the_limit_does_not_rise(machine: Machine) -> None:
    for number in range(20):
        machine.passes(INTERVAL_S, share=0)
        await machine.send(f"a{number}", f"b{number}")
        await machine.answer(f"a{number}")
        await machine.answer(f"b{number}")
    await machine.send("b", "a", "a#", "a+")
    assert machine.under_way == ["b", "a", "a#"]


async def a_cancelled_request_under_way_starts_the_next(machine: Machine) -> None:
    await machine.send("b1", "a1", "a2", "a3")
    await machine.cancel("a1")
    assert machine.under_way == ["b1", "a2", "a3"]


async def a_cancelled_request_that_waits_takes_no_turn(machine: Machine) -> None:
    await machine.send("b1", "a1", "a2", "a3", "a4")
    await machine.cancel("a3")
    assert machine.limit.waiting == 1
    await machine.answer("a1")
    assert machine.under_way == ["b1", "a2", "a4"]


CASES: list[Callable[[Machine], Awaitable[None]]] = [
    one_organization_never_waits,
    above_the_limit_requests_wait_in_their_order,
    others_are_served_at_once,
    what_was_under_way_before_the_other_came_is_not_cut_off,
    a_request_that_needs_no_turn_counts,
    alone_again_nothing_waits,
    the_limit_rises_while_the_event_loop_has_time,
    the_limit_falls_while_the_event_loop_is_busy,
    a_late_timer_shows_that_the_event_loop_is_busy,
    without_a_flood_the_limit_does_not_rise,
    a_cancelled_request_under_way_starts_the_next,
    a_cancelled_request_that_waits_takes_no_turn,
]


@pytest.mark.parametrize("case", CASES, ids=[case.__name__ for case in CASES])
def test_concurrency_limit(case: Callable[[Machine], Awaitable[None]]) -> None:
    async def run() -> None:
        machine = Machine()
        await case(machine)
        await asyncio.wait_for(machine.answer_all(), PATIENCE_S)
        assert machine.under_way == []
        assert machine.limit.waiting == 0

    asyncio.run(run())


def test_a_request_cancelled_with_its_slot_gives_it_to_the_next() -> None:
    async def run() -> None:
        limit = still_limit()
        other, first, second = (limit.slot(name) for name in ("b", "a", "a"))
        for slot in (other, first, second):
            await slot.__aenter__()
        waits = asyncio.create_task(limit.slot("a").__aenter__())
        await _settled()
        assert limit.waiting == 1
        await first.__aexit__(None, None, None)  # does not let the task run
        assert limit.waiting == 0
        waits.cancel()
        async with asyncio.timeout(PATIENCE_S), limit.slot("a"):
            assert waits.cancelled()

    asyncio.run(run())


def test_a_failing_request_ends_its_slot() -> None:
    async def run() -> None:
        limit = still_limit()
        for name in ("a", "b", "a", "a", "a"):
            with pytest.raises(ValueError, match=name):
                async with limit.slot(name):
                    raise ValueError(name)
        assert limit.waiting == 0

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_the_work_of_other_threads_counts() -> None:
    """The event loop waits for another thread that runs Python, and uses no processor meanwhile."""

    def work() -> None:
        ends_s = time.thread_time() + INTERVAL_S
        while time.thread_time() < ends_s:
            pass

    async def run() -> None:
        now_s = 0.0
        limit = ConcurrencyLimit(Share(clock_s=lambda: now_s), lambda: now_s)
        slots = [limit.slot(name) for name in ("b", "a", "a", "a")]
        for slot in slots[:-1]:
            await slot.__aenter__()
        waits = asyncio.create_task(slots[-1].__aenter__())
        await _settled()
        await asyncio.to_thread(work)
        now_s = INTERVAL_S
        await asyncio.sleep(INTERVAL_S * 1.2)  # long enough for the timer
        assert limit.waiting == 1
        waits.cancel()

    asyncio.run(run())


def test_requests_that_wait_for_an_issuer_delay_no_others() -> None:
    async def run() -> None:
        limit = still_limit()
        async with limit.slot("b"):
            pass
        logins = [limit.slot("a", RequestGroup.ISSUER) for _ in range(LIMIT_MIN)]
        for login in logins:
            await login.__aenter__()
        third = asyncio.create_task(limit.slot("a", RequestGroup.ISSUER).__aenter__())
        await _settled()
        async with asyncio.timeout(PATIENCE_S), limit.slot("a") as has_waited:
            assert not has_waited
        assert not third.done()
        third.cancel()

    asyncio.run(run())
