"""Equal requests that come at the same time: one is carried out. Order is compared, never times."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from keystead.api.errors import InvalidRequest
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.organization_writer import OrganizationWriter
from tests.support.commit_samples import an_activity, an_organization
from tests.support.hanging import PATIENCE_S
from tests.support.memory_database import MemoryDatabase
from tests.support.memory_store import MemoryStore

FINGERPRINT = "sha256:0"
ACTIVITY = an_activity(an_organization())


class Scene:
    """A writer, the callers whose requests were carried out, and a request that goes on when `goes_on` is set."""

    def __init__(self) -> None:
        self.writer = OrganizationWriter(MemoryStore(MemoryDatabase()), ACTIVITY.organization_id, {})
        self.carried_out: list[str] = []
        self.goes_on = asyncio.Event()

    def send(
        self, caller_id: str, fingerprint: str = FINGERPRINT, refusal: Exception | None = None
    ) -> asyncio.Task[RecordedActivity]:
        async def carry_out() -> RecordedActivity:
            self.carried_out.append(caller_id)
            await self.goes_on.wait()
            if refusal is not None:
                raise refusal
            return ACTIVITY

        return asyncio.create_task(self.writer.once(fingerprint, caller_id, carry_out))


def played(play: Callable[[Scene], Awaitable[Any]]) -> list[str]:
    """Whose requests were carried out, in order."""

    async def run() -> list[str]:
        scene = Scene()
        await play(scene)
        assert not scene.writer._under_way
        return scene.carried_out

    return asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


async def settled() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_the_same_caller_gets_the_same_answer() -> None:
    async def play(scene: Scene) -> None:
        sent = [scene.send(caller) for caller in ("a", "a", "b", "a", "b", "c")]
        other = scene.send("a", "sha256:1")
        await settled()
        scene.goes_on.set()
        assert await asyncio.gather(*sent, other) == [ACTIVITY] * 7
        assert await scene.send("a") is ACTIVITY, "later, nothing is under way"

    assert played(play) == ["a", "a", "b", "c", "a"]


def test_the_same_caller_gets_the_same_refusal() -> None:
    refusal = InvalidRequest("no")

    async def play(scene: Scene) -> None:
        sent = [scene.send("a", refusal=refusal) for _ in range(3)] + [scene.send("b")]
        await settled()
        scene.goes_on.set()
        assert await asyncio.gather(*sent, return_exceptions=True) == [*[refusal] * 3, ACTIVITY]

    assert played(play) == ["a", "b"]


def test_a_defect_is_the_one_requests_alone() -> None:
    async def play(scene: Scene) -> None:
        sent = [scene.send("a", refusal=ZeroDivisionError()), scene.send("a")]
        await settled()
        scene.goes_on.set()
        defect, answer = await asyncio.gather(*sent, return_exceptions=True)
        assert isinstance(defect, ZeroDivisionError)
        assert answer is ACTIVITY

    assert played(play) == ["a", "a"]


@pytest.mark.parametrize("moment", ["while it is carried out", "while it waits", "after its turn came"])
def test_a_cancelled_request_stops_no_other(moment: str) -> None:
    async def play(scene: Scene) -> None:
        first, second, third = scene.send("a"), scene.send("b"), scene.send("b")
        await settled()
        if moment == "after its turn came":
            first.cancel()
            await asyncio.sleep(0)  # the first ends, and the second does not run yet
        cancelled = first if moment == "while it is carried out" else second
        cancelled.cancel()
        await settled()
        assert cancelled.cancelled()
        scene.goes_on.set()
        assert await third is ACTIVITY
        await asyncio.wait([first, second])

    assert played(play)[-1] == "b"


@pytest.mark.parametrize("who", ["of one caller", "of many callers", "that are cancelled"])
def test_the_end_of_one_does_not_wake_all_others(who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When each end woke all that wait, 4,000 requests of the same bytes took 40 s of everybody's time."""
    count, woken = 200, 0

    async def play(scene: Scene) -> None:
        sent = [scene.send(f"{number}" if who == "of many callers" else "a") for number in range(count)]
        await settled()
        loop = asyncio.get_running_loop()
        call_soon = loop.call_soon

        def counted(*arguments: Any, **options: Any) -> asyncio.Handle:
            nonlocal woken
            woken += 1
            return call_soon(*arguments, **options)

        monkeypatch.setattr(loop, "call_soon", counted)
        if who == "that are cancelled":
            for one in sent[:-1]:
                one.cancel()
                await asyncio.wait([one])
                await settled()
        scene.goes_on.set()
        await asyncio.wait(sent)

    assert len(played(play)) == (1 if who == "of one caller" else count)
    assert woken < 20 * count
