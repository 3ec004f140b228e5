"""What comes at about the same time goes together; nobody waits for somebody who does not come."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from keystead.activities.arrivals import TOGETHER_MAX, Arrivals


class Passed:
    """What was passed on, and at which turn of the event loop."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.arrivals: Arrivals[int] = Arrivals(self._take)

    def _take(self, group: Sequence[int]) -> None:
        self.groups.append(list(group))


@pytest.mark.parametrize(
    ("by_turn", "groups"),
    [
        ([1], [[0]]),
        ([3], [[0, 1, 2]]),
        ([1, 1, 1], [[0, 1, 2]]),
        ([2, 0, 0, 0, 1], [[0, 1], [2]]),
        ([TOGETHER_MAX - 1, 3], [list(range(TOGETHER_MAX)), [TOGETHER_MAX, TOGETHER_MAX + 1]]),
        ([TOGETHER_MAX + 1], [list(range(TOGETHER_MAX)), [TOGETHER_MAX]]),
        ([1] * (TOGETHER_MAX + 1), [list(range(TOGETHER_MAX)), [TOGETHER_MAX]]),
    ],
)
def test_together(by_turn: list[int], groups: list[list[int]]) -> None:
    async def arrive() -> list[list[int]]:
        passed, number = Passed(), 0
        for count in by_turn:
            for _ in range(count):
                passed.arrivals.add(number)
                number += 1
            await asyncio.sleep(0)
        for _ in range(3):
            await asyncio.sleep(0)
        return passed.groups

    assert asyncio.run(arrive()) == groups


def test_passed_on_at_once() -> None:
    """As at closing: what is here goes now, and goes once."""

    async def arrive() -> list[list[int]]:
        passed = Passed()
        passed.arrivals.pass_on()
        passed.arrivals.add(1)
        passed.arrivals.pass_on()
        passed.arrivals.add(2)
        for _ in range(4):
            await asyncio.sleep(0)
        return passed.groups

    assert asyncio.run(arrive()) == [[1], [2]]
