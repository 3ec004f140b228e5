"""Several on the road of a write at once: the same bytes, others' bytes, and what was built on a failure."""

from __future__ import annotations

import asyncio

import pytest

from keystead.activities.activity import Activity
from keystead.activities.store import CommitOutcome
from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest, Unavailable
from tests.activities.road import Road, a_submission, by_another_process, run


def test_the_same_bytes_at_once() -> None:
    road, submission = Road(), a_submission()

    async def test() -> list[Activity]:
        road.store.holding = True
        submitted = [road.submit(submission) for _ in range(5)]
        await road.store.until_handed_in(1)
        road.store.release()
        return await asyncio.gather(*submitted)

    first, *others = run(test)
    assert all(activity is first for activity in others)
    assert len(road.store.handed_in) == 1


def test_refused_bytes_at_once_are_each_judged() -> None:
    road, submission = Road(), a_submission(timestampMs="0")

    async def test() -> list[Activity | BaseException]:
        return await asyncio.gather(*[road.submit(submission) for _ in range(3)], return_exceptions=True)

    assert [type(result) for result in run(test)] == [InvalidRequest] * 3


def test_one_need_not_wait_for_the_commit_of_another() -> None:
    road = Road()

    async def test() -> None:
        road.store.holding = True
        submitted = [road.submit(a_submission()) for _ in range(3)]
        await road.store.until_handed_in(3)
        road.store.release()
        await asyncio.gather(*submitted)

    run(test)
    assert [commit.change.before.number for commit in road.store.handed_in] == [1, 2, 3]  # type: ignore[union-attr]
    assert len(road.store.current.tags) == 3


FAILED: list[tuple[str, CommitOutcome | Exception]] = [
    ("somebody was faster", CommitOutcome.CONFLICT),
    ("the database went away", Unavailable("gone")),
]


@pytest.mark.parametrize(("name", "outcome"), FAILED, ids=[name for name, _ in FAILED])
def test_refused_for_what_never_came_to_pass(name: str, outcome: CommitOutcome | Exception) -> None:
    """A tag of the same name was under way and came to nothing: the second is judged again, without it."""
    road = Road()

    async def test() -> tuple[Activity | BaseException, Activity]:
        road.store.holding = True
        first = road.submit(a_submission("same"))
        await road.store.until_handed_in(1)
        second = road.submit(a_submission("same"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not second.done()
        by_another_process(road.store)
        road.store.release(outcome)
        results = await asyncio.gather(first, second, return_exceptions=True)
        return results[0], results[1]  # type: ignore[return-value]

    first, second = run(test)
    completed = [result for result in (first, second) if isinstance(result, Activity)]
    assert len(completed) == 1
    assert [tag.tag_name for tag in road.store.current.tags.values()].count("same") == 1


def test_refused_for_what_came_to_pass() -> None:
    road = Road()

    async def test() -> list[Activity | BaseException]:
        road.store.holding = True
        submitted = [road.submit(a_submission("same")) for _ in range(2)]
        await road.store.until_handed_in(1)
        road.store.release()
        return await asyncio.gather(*submitted, return_exceptions=True)

    assert [type(result) for result in run(test)] == [Activity, InvalidRequest]


def test_what_was_built_on_a_failure_is_built_again() -> None:
    road = Road()

    async def test() -> list[Activity]:
        road.store.holding = True
        submitted = [road.submit(a_submission()) for _ in range(3)]
        await road.store.until_handed_in(3)
        by_another_process(road.store)
        road.store.release()
        return await asyncio.gather(*submitted)

    assert len({activity.id for activity in run(test)}) == 3
    assert (road.store.current.version.number, len(road.store.current.tags)) == (5, 4)


def test_after_an_outage_the_next_one_begins_anew() -> None:
    road = Road()

    async def test() -> Activity:
        road.store.holding = True
        first = road.submit(a_submission())
        await road.store.until_handed_in(1)
        road.store.release(Unavailable("gone"))
        with pytest.raises(Unavailable, match="gone"):
            await first
        return await road.submit(a_submission())

    assert run(test).status is ActivityStatus.COMPLETED
    assert road.store.current.version.number == 2
