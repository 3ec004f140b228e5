"""Long work in slices: complete and in order, with other tasks in between."""

from __future__ import annotations

import asyncio
import time

import pytest

from keystead.pipeline.time_slices import SLICE_S, TimeSlices


def test_results_are_in_order() -> None:
    assert asyncio.run(TimeSlices().each("", str, range(20_000))) == [str(number) for number in range(20_000)]
    assert asyncio.run(TimeSlices().each("", str, ())) == []


def test_others_run_between_slices() -> None:
    async def run() -> list[str]:
        slices, seen = TimeSlices(), list[str]()

        def take(name: str) -> None:
            _take()
            seen.append(name)

        async def other() -> None:
            seen.append("other")

        works = [slices.each(name, take, [f"{name}{number}" for number in range(4)]) for name in "ab"]
        await asyncio.gather(*works, other())
        return seen

    seen = asyncio.run(run())
    assert seen.index("other") < seen.index("a2")
    assert seen.index("b1") < seen.index("a3")


def test_organizations_take_turns() -> None:
    async def run() -> list[str]:
        slices, seen = TimeSlices(), list[str]()

        def take(name: str) -> None:
            _take()
            seen.append(name)

        flood = [slices.each("attacker", take, ["attacker"] * 4) for _ in range(5)]
        await asyncio.gather(*flood, slices.each("other", take, ["other"] * 4))
        return seen

    seen = asyncio.run(run())
    first, *_, last = [place for place, name in enumerate(seen) if name == "other"]
    assert len(seen) == 24
    assert last - first <= 7  # a slice of the attacker between two of the other's


def test_a_failure_does_not_hold_others_up() -> None:
    def fail(number: int) -> None:
        _take()
        if number == 2:
            raise ValueError

    async def run() -> None:
        slices = TimeSlices()
        for _ in range(2):
            with pytest.raises(ValueError):
                await slices.each("", fail, range(3))

    asyncio.run(asyncio.wait_for(run(), 10))


def _take() -> None:
    ends_s = time.perf_counter() + 1.5 * SLICE_S
    while time.perf_counter() < ends_s:
        pass
