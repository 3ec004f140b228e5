"""Requests of equal bytes, one at a time. Order is compared, never times."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from keystead.pipeline.idempotency import InFlightRequests

KEY = ("organization", "sha256:0")


async def _settled() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_in_the_order_in_which_they_came() -> None:
    async def run() -> None:
        requests = InFlightRequests()
        done: list[tuple[int, bool]] = []

        async def one(number: int) -> None:
            was_here = await requests.join(KEY)
            await asyncio.sleep(0)
            done.append((number, was_here))
            requests.finish(KEY)

        await asyncio.gather(*(one(number) for number in range(4)))
        assert done == [(0, False), (1, True), (2, True), (3, True)]

    asyncio.run(run())


def test_the_end_of_one_wakes_one_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all others woken, 4,000 requests of the same bytes took 40 s of everybody's time."""
    count = 200

    async def run() -> int:
        loop, woken = asyncio.get_running_loop(), 0
        requests = InFlightRequests()
        call_soon = loop.call_soon

        def counted(*arguments: Any, **options: Any) -> asyncio.Handle:
            nonlocal woken
            woken += 1
            return call_soon(*arguments, **options)

        async def one() -> None:
            await requests.join(KEY)
            await asyncio.sleep(0)
            requests.finish(KEY)

        monkeypatch.setattr(loop, "call_soon", counted)
        await asyncio.gather(*(one() for _ in range(count)))
        return woken

    assert asyncio.run(run()) < 10 * count


@pytest.mark.parametrize("came_before", [False, True], ids=["while it waits", "after its turn came"])
def test_a_cancelled_request_stops_no_other(came_before: bool) -> None:
    async def run() -> None:
        requests = InFlightRequests()
        await requests.join(KEY)
        cancelled, last = (asyncio.create_task(requests.join(KEY)) for _ in range(2))
        await _settled()
        if came_before:
            requests.finish(KEY)  # does not let the task run
        cancelled.cancel()
        await _settled()
        if not came_before:
            assert not last.done()
            requests.finish(KEY)
        assert await asyncio.wait_for(last, 10)
        requests.finish(KEY)
        assert await asyncio.wait_for(requests.join(KEY), 10), "nothing is in flight"
        assert cancelled.cancelled()

    asyncio.run(run())
