"""Pieces of long work: organizations take turns, and other requests run between two pieces."""

from __future__ import annotations

import asyncio
import time

import pytest

from keystead.pipeline.long_work import LONG_S, LongWork


async def _piece(work: LongWork, organization: str, name: str, seen: list[str]) -> None:
    async with work.turn(organization):
        seen.append(name)


def test_organizations_take_turns() -> None:
    async def run() -> list[str]:
        work, seen = LongWork(), list[str]()
        flood = [_piece(work, "attacker", f"attacker {number}", seen) for number in range(5)]
        await asyncio.gather(*flood, _piece(work, "other", "other", seen))
        return seen

    seen = asyncio.run(run())
    assert len(seen) == 6
    assert seen.index("other") <= 2


def test_others_run_after_each_piece() -> None:
    async def run() -> list[str]:
        work, seen = LongWork(), list[str]()

        async def other() -> None:
            for _ in range(3):
                seen.append("other")
                await asyncio.sleep(0)

        async def long_piece(number: int) -> None:
            async with work.turn("attacker"):
                _take(2 * LONG_S)
                seen.append(f"piece {number}")

        await asyncio.gather(*[long_piece(number) for number in range(3)], other())
        return seen

    seen = asyncio.run(run())
    assert [each for each in seen if each != "other"] == ["piece 0", "piece 1", "piece 2"]
    assert seen.index("other") < seen.index("piece 1")


def test_a_long_decision_makes_the_next_ones_of_its_organization_wait() -> None:
    async def run() -> list[str]:
        work, seen = LongWork(), list[str]()
        await work.run_decision("costly", lambda: _take(2 * LONG_S))
        async with work.turn("another"):
            waiting = asyncio.create_task(work.run_decision("costly", lambda: seen.append("costly")))
            await work.run_decision("cheap", lambda: seen.append("cheap"))
            await asyncio.sleep(0)
            seen.append("turn ends")
            await work.run_chain_work("costly", lambda: seen.append("of another kind"))
        await waiting
        return seen

    assert asyncio.run(run()) == ["cheap", "turn ends", "of another kind", "costly"]


@pytest.mark.parametrize("ends", [asyncio.CancelledError, ValueError])
def test_work_that_fails_or_is_cancelled_delays_no_other_work(ends: type[BaseException]) -> None:
    async def run() -> list[str]:
        work, seen = LongWork(), list[str]()
        with pytest.raises(ends):
            async with work.turn("one"):
                raise ends
        waiting = asyncio.create_task(_piece(work, "one", "cancelled", seen))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait_for(_piece(work, "one", "next", seen), 60)
        return seen

    assert asyncio.run(run()) == ["next"]


def _take(seconds: float) -> None:
    until_s = time.thread_time() + seconds
    while time.thread_time() < until_s:
        pass
