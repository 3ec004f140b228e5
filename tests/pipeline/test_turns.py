"""Turns in a lane: one at a time, in order; and whether there is one to be had at once."""

from __future__ import annotations

import asyncio

import pytest

from keystead.pipeline.lanes import Turn


def test_free_only_if_nobody_is_in_line() -> None:
    """Not just after a turn was left, either: it belongs to who waited, who has not come round to it yet."""

    async def run() -> tuple[list[str], list[bool]]:
        turn, order, free = Turn(), list[str](), [Turn().is_free]
        leave = asyncio.Event()

        async def first() -> None:
            async with turn:
                order.append("first")
                await leave.wait()
            free.append(turn.is_free)

        async def next_one(name: str) -> None:
            async with turn:
                order.append(name)

        having = asyncio.create_task(first())
        waiting = [asyncio.create_task(next_one(name)) for name in ("second", "third")]
        await asyncio.sleep(0)
        free.append(turn.is_free)
        leave.set()
        await asyncio.gather(having, *waiting)
        return order, [*free, turn.is_free]

    assert asyncio.run(run()) == (["first", "second", "third"], [True, False, False, True])


def test_who_gives_up_is_not_in_line() -> None:
    async def run() -> bool:
        turn = Turn()
        async with turn:
            waiting = asyncio.create_task(turn.__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        return turn.is_free

    assert asyncio.run(run())
