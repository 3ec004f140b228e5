"""What comes at about the same time goes together; nobody waits for somebody who does not come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from keystead.pipeline import arrivals
from keystead.pipeline.arrivals import TOGETHER_MAX, Arrivals, Coming


class Passed:
    """What was passed on, and at which turn of the event loop."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.arrivals: Arrivals[int] = Arrivals(self._take)
        self._coming: dict[str, Coming] = {}

    def _take(self, group: Sequence[int]) -> None:
        self.groups.append(list(group))

    def sets_out(self, name: str) -> None:
        self._coming[name] = self.arrivals.coming()

    def gives_up(self, name: str) -> None:
        self._coming[name].end()

    def arrives(self, name: str, number: int) -> None:
        self.arrivals.add(number)
        self.gives_up(name)


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


Step = Callable[[Passed], None]


@pytest.mark.parametrize(
    ("steps", "groups"),
    [
        pytest.param([lambda p: p.sets_out("A")], [], id="nobody waits"),
        pytest.param(
            [lambda p: p.sets_out("A"), lambda p: p.arrivals.add(1)],
            [],
            id="who is here waits for who has set out",
        ),
        pytest.param(
            [lambda p: p.sets_out("A"), lambda p: p.arrivals.add(1), lambda p: p.arrives("A", 2)],
            [[1, 2]],
            id="and goes with them",
        ),
        pytest.param(
            [
                lambda p: p.sets_out("A"),
                lambda p: p.sets_out("B"),
                lambda p: p.arrivals.add(1),
                lambda p: p.arrives("B", 2),
                lambda p: p.arrives("A", 3),
            ],
            [[1, 2, 3]],
            id="for all of them",
        ),
        pytest.param(
            [lambda p: p.sets_out("A"), lambda p: p.arrivals.add(1), lambda p: p.gives_up("A")],
            [[1]],
            id="not for who gave up",
        ),
        pytest.param(
            [
                lambda p: p.sets_out("A"),
                lambda p: p.arrivals.add(1),
                lambda p: p.sets_out("B"),
                lambda p: p.arrives("A", 2),
            ],
            [[1, 2]],
            id="not for who set out later",
        ),
        pytest.param(
            [lambda p: p.sets_out("A"), lambda p: p.arrivals.add(1), lambda p: p.arrivals.pass_on()],
            [[1]],
            id="not at closing",
        ),
        pytest.param(
            [lambda p: p.sets_out("A"), *[lambda p: p.arrivals.add(0)] * TOGETHER_MAX],
            [[0] * TOGETHER_MAX],
            id="not for one more than enough",
        ),
        pytest.param(
            [
                lambda p: p.sets_out("A"),
                lambda p: p.arrivals.add(1),
                lambda p: p.arrivals.pass_on(),
                lambda p: p.sets_out("B"),
                lambda p: p.arrivals.add(2),
                lambda p: p.arrives("A", 3),
            ],
            [[1]],
            id="the next wait for all who are under way then",
        ),
    ],
)
def test_on_their_way(steps: Sequence[Step], groups: list[list[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "PATIENCE_S", 60.0)

    async def arrive() -> list[list[int]]:
        passed = Passed()
        for step in steps:
            step(passed)
            for _ in range(3):
                await asyncio.sleep(0)
        return passed.groups

    assert asyncio.run(arrive()) == groups


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever says that they come and does not, as with a signer that does not answer, delays others once."""
    monkeypatch.setattr(arrivals, "PATIENCE_S", 0.001)

    async def arrive() -> list[Sequence[int]]:
        groups: asyncio.Queue[Sequence[int]] = asyncio.Queue()
        here: Arrivals[int] = Arrivals(groups.put_nowait)
        with here.coming():
            here.add(1)
            passed = [await groups.get()]
            here.add(2)
        return [*passed, await groups.get()]

    assert asyncio.run(asyncio.wait_for(arrive(), 10)) == [[1], [2]]
