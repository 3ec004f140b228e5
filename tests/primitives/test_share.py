"""The share of the processor: which work waits for a turn, whose turn is next, and what runs in between.

Time is that of a manual clock, which only work moves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from keystead.primitives.share import SLICE_S, Share, Work
from tests.support.hanging import PATIENCE_S

LONG_S = 4 * SLICE_S


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Scene:
    """A share, its clock, and the names of the work that was done, in order."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.share = Share(self.clock, self.clock)
        self.done: list[str] = []

    def takes(self, seconds: float, name: str) -> Callable[[], None]:
        def work() -> None:
            self.clock.now_s += seconds
            self.done.append(name)

        return work

    async def run(self, owner: str, seconds: float, kind: Work = Work.DECISION, size: int = 1) -> None:
        await self.share.run(owner, kind, self.takes(seconds, owner), size)

    async def each(self, owner: str, items: int, seconds: float) -> None:
        def work(_: int) -> None:
            self.takes(seconds, owner)()

        await self.share.each(owner, work, range(items))

    async def idle(self, seconds: float = 60.0) -> None:
        """Debts end as time goes on."""
        self.clock.now_s += seconds
        await asyncio.sleep(0)


def played(play: Callable[[Scene], Awaitable[Any]]) -> list[str]:
    """What was done, in order."""
    scene = Scene()

    async def run() -> None:
        await asyncio.wait_for(play(scene), PATIENCE_S)

    asyncio.run(run())
    return scene.done


def test_values_and_errors_are_those_of_the_work() -> None:
    async def run() -> None:
        share = Share()
        assert await share.run("a", Work.DECISION, lambda: 7) == 7
        assert await share.each("a", str, range(20_000)) == [str(number) for number in range(20_000)]
        assert await share.each("a", str, ()) == []
        with pytest.raises(ZeroDivisionError):
            await share.run("a", Work.DECISION, lambda: 1 // 0)
        with pytest.raises(ValueError, match="invalid"):
            await share.each("a", int, ["1", "x"])
        assert await share.run("a", Work.DECISION, lambda: 8) == 8

    asyncio.run(run())


def test_short_work_is_done_at_once() -> None:
    async def play(scene: Scene) -> None:
        holding = asyncio.create_task(scene.each("long", 5, LONG_S))
        await asyncio.sleep(0)
        await scene.run("short", SLICE_S / 10)
        await holding

    assert played(play).index("short") == 1


def test_the_first_long_work_of_an_owner_is_done_at_once_and_the_next_waits() -> None:
    async def play(scene: Scene) -> None:
        await scene.run("costly", LONG_S)
        await scene.idle()
        holding = asyncio.create_task(scene.each("other", 3, LONG_S))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(scene.run("costly", LONG_S))
        await scene.run("cheap", 0.0)
        await asyncio.gather(holding, waiting)

    done = played(play)
    assert done[:3] == ["costly", "other", "cheap"]
    assert done[3:] == ["other", "costly", "other"] or done[3:] == ["costly", "other", "other"]


def test_long_work_of_one_kind_does_not_delay_another_kind() -> None:
    async def play(scene: Scene) -> None:
        await scene.run("costly", LONG_S, Work.DECISION)
        await scene.idle()
        holding = asyncio.create_task(scene.each("other", 2, LONG_S))
        await asyncio.sleep(0)
        await scene.run("costly", 0.0, Work.TRANSACTION)
        await holding

    assert played(play) == ["costly", "other", "costly", "other"]


@pytest.mark.parametrize(("size", "waits"), [(10, False), (1_000, True)], ids=["small", "large"])
def test_what_a_unit_takes_is_learned_from_all_owners(size: int, waits: bool) -> None:
    """The first body took 20 µs for each byte, so another address's 1,000 bytes are expected to take 20 ms."""

    async def play(scene: Scene) -> None:
        await scene.run("first", LONG_S, Work.BODY, 1_000)
        await scene.idle()
        holding = asyncio.create_task(scene.each("other", 2, LONG_S))
        await asyncio.sleep(0)
        sized = asyncio.create_task(scene.run("second", 0.0, Work.BODY, size))
        await asyncio.sleep(0)
        scene.done.append("later")
        await asyncio.gather(holding, sized)

    done = played(play)
    assert (done.index("second") > done.index("later")) is waits


def test_an_owner_in_debt_waits_also_for_short_work() -> None:
    async def play(scene: Scene) -> None:
        for _ in range(30):  # no piece is long, and together they are more than the owner's share
            await scene.run("busy", SLICE_S * 0.9)
        holding = asyncio.create_task(scene.each("other", 2, LONG_S))
        await asyncio.sleep(0)
        in_debt = asyncio.create_task(scene.share.run("busy", Work.TRANSACTION, scene.takes(0.0, "in debt")))
        await asyncio.sleep(0)
        scene.done.append("later")
        await asyncio.gather(holding, in_debt)

    done = played(play)
    assert done.index("in debt") > done.index("later")


def test_a_debt_ends_as_time_goes_on() -> None:
    async def play(scene: Scene) -> None:
        for _ in range(10):
            await scene.run("busy", SLICE_S * 0.9)
        await scene.idle()
        scene.done.clear()
        holding = asyncio.create_task(scene.each("other", 2, LONG_S))
        await asyncio.sleep(0)
        await scene.run("busy", 0.0)
        await holding

    assert played(play) == ["other", "busy", "other"]


def test_the_owner_with_the_least_debt_is_next() -> None:
    async def play(scene: Scene) -> None:
        flood = [asyncio.create_task(scene.each("attacker", 3, LONG_S)) for _ in range(5)]
        await asyncio.sleep(0)
        await scene.each("other", 3, LONG_S)
        await asyncio.gather(*flood)

    done = played(play)
    last = [place for place, name in enumerate(done) if name == "other"][-1]
    assert len(done) == 18
    assert last <= 10, "after the first slices, at most one slice of the attacker between two of the other's"


def test_works_of_one_owner_that_are_divided_wait_for_each_other() -> None:
    """Otherwise the incomplete results of all of them would be in memory at the same time."""

    async def play(scene: Scene) -> None:
        async def each(name: str) -> None:
            def work(number: int) -> None:
                scene.takes(LONG_S, f"{name}{number}")()

            await scene.share.each("owner", work, range(3))

        await asyncio.gather(each("a"), each("b"))

    assert played(play) == ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_other_tasks_run_between_the_turns() -> None:
    async def play(scene: Scene) -> None:
        async def other() -> None:
            for _ in range(3):
                scene.done.append("other")
                await asyncio.sleep(0)

        await asyncio.gather(scene.each("long", 4, LONG_S), other())

    done = played(play)
    assert done[0] == "long"
    assert done.index("other") < [place for place, name in enumerate(done) if name == "long"][2]


def test_a_pause_follows_a_turn_while_several_owners_send_requests() -> None:
    async def run(owners: list[str]) -> list[float]:
        clock = Clock()
        share = Share(clock, clock)
        pauses = list[float]()
        loop = asyncio.get_running_loop()
        call_later = loop.call_later

        def noted(delay: float, *arguments: Any, **options: Any) -> asyncio.TimerHandle:
            pauses.append(delay)
            return call_later(0, *arguments, **options)

        loop.call_later = noted  # type: ignore[method-assign, assignment]
        for owner in owners:
            share.note(owner)

        def work(_: int) -> None:
            clock.now_s += LONG_S

        await share.each("a", work, range(3))
        return pauses

    assert asyncio.run(run(["a"])) == []
    assert asyncio.run(run(["a", "b"])) == pytest.approx([LONG_S, LONG_S])


@pytest.mark.parametrize("moment", ["while it waits", "after its turn came"])
def test_cancelled_work_holds_no_other_up(moment: str) -> None:
    async def play(scene: Scene) -> None:
        holding = asyncio.create_task(scene.each("first", 2, LONG_S))
        await asyncio.sleep(0)
        cancelled = asyncio.create_task(scene.each("cancelled", 2, LONG_S))
        last = asyncio.create_task(scene.each("last", 2, LONG_S))
        for _ in range(1 if moment == "while it waits" else 3):
            await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.gather(holding, last)

    assert played(play).count("last") == 2


def test_a_failure_holds_no_other_up() -> None:
    async def play(scene: Scene) -> None:
        def items() -> Iterator[int]:
            yield 0
            scene.clock.now_s += LONG_S
            yield 1
            raise ValueError

        for _ in range(2):
            with pytest.raises(ValueError):
                await scene.share.each("one", str, items())
        await scene.run("two", 0.0)

    assert played(play) == ["two"]
