"""Concurrent changes of one activity: one of them succeeds, and no caller waits for ever.

Here: two stores and several processes on one database. Not here: races for an organization (`test_committing`).
"""

from __future__ import annotations

import asyncio
import multiprocessing

from msgspec.structs import replace

from keystead.api.enums import ActivityStatus
from keystead.api.records import User
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import CommitResult
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, approved, awaiting, new_history, of, waiting
from tests.support.commit_samples import a_user, an_organization
from tests.support.hanging import PATIENCE_S

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult
DONE = ActivityStatus.COMPLETED
GRACE, EDA = a_user("Grace"), a_user("Eda")


def test_of_two_approvers_at_the_same_instant_one_wins(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            child = CommitHistory(an_organization(parent_id=history.head.id))
            assert await store.commit(history.suborganization(child.head)) is COMMITTED
            for round_ in range(30):
                activity = await waiting(store, history)
                voters = (GRACE, EDA)
                rivals = [approved(activity, voter, status=DONE) for voter in voters]
                changes = [
                    CommitHistory(history.head).write_of(rival, voter)
                    for rival, voter in zip(rivals, voters, strict=True)
                ]
                # Every second time they change the organization too; commits of another one share their batches.
                commits = [
                    replace(of(rival, history.head), changes=change if round_ % 2 else None)
                    for rival, change in zip(rivals, changes, strict=True)
                ]
                beside = [of(awaiting(child.signing()), child.head) for _ in range(4)]
                results = await asyncio.gather(
                    store.commit(beside[0]),
                    store.commit(commits[0]),
                    other.commit(beside[1]),
                    other.commit(commits[1]),
                    store.commit(beside[2]),
                    other.commit(beside[3]),
                )
                assert [results[place] for place in (0, 2, 4, 5)] == [COMMITTED] * 4
                assert {results[1], results[3]} == {COMMITTED, CONFLICT}
                winner = 0 if results[1] is COMMITTED else 1
                if round_ % 2:
                    history.head = changes[winner].after
                for place in (store, other):
                    assert await place.activities.get(history.head.id, activity.id) == rivals[winner]
                    assert await place.organization(history.head.id) == history.head

    asyncio.run(run())


def test_of_two_revisions_in_one_batch_the_first_wins(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            for _ in range(5):
                activity = await waiting(store, history)
                rivals = [approved(activity, voter) for voter in (GRACE, EDA)]
                commits = [of(rivals[0], history.head), history.step(), of(rivals[1], history.head), history.step()]
                results = await asyncio.gather(*map(store.commit, commits))
                assert results == [COMMITTED, COMMITTED, CONFLICT, COMMITTED]
                assert await store.activities.get(history.head.id, activity.id) == rivals[0]
            assert await store.organization(history.head.id) == history.head

    asyncio.run(run())


async def _vote(store: DatabaseStore, organization_id: str, activity_id: str, voter: User, count: int) -> list[int]:
    """Approve `count` times, each time from what is there, again where another was first."""
    won: list[int] = []
    while len(won) < count:
        activity = await store.activities.get(organization_id, activity_id)
        organization = await store.organization(organization_id)
        assert activity is not None
        assert organization is not None
        revised = approved(activity, voter)
        if await store.commit(of(revised, organization)) is COMMITTED:
            won.append(revised.revision)
    return won


def _vote_in_process(
    database: str, organization_id: str, activity_id: str, voter: User, found: multiprocessing.Queue[list[int]]
) -> None:
    async def run() -> list[int]:
        async with opened(database) as store:
            return await _vote(store, organization_id, activity_id, voter, 25)

    found.put(asyncio.run(run()))


def test_every_revision_has_one_winner_between_processes(database: str) -> None:
    async def begin() -> tuple[Organization, RecordedActivity]:
        async with opened(database) as store:
            history = await new_history(store)
            return history.head, await waiting(store, history)

    organization, activity = asyncio.run(begin())
    voters = [a_user(f"voter {number}") for number in range(3)]
    context = multiprocessing.get_context("spawn")
    answers: multiprocessing.Queue[list[int]] = context.Queue()
    processes = [
        context.Process(target=_vote_in_process, args=(database, organization.id, activity.id, voter, answers))
        for voter in voters[:2]
    ]
    for process in processes:
        process.start()

    async def meanwhile() -> list[int]:
        async with opened(database) as store:
            return await _vote(store, organization.id, activity.id, voters[2], 25)

    won = asyncio.run(meanwhile()) + [revision for _ in processes for revision in answers.get(timeout=PATIENCE_S)]
    for process in processes:
        process.join()
    assert sorted(won) == list(range(1, 76))

    async def check() -> None:
        async with opened(database) as store:
            newest = await store.activities.get(organization.id, activity.id)
            assert newest is not None
            assert newest.revision == 75
            assert len(newest.proofs) == 76
            assert {vote.user_id for vote in newest.votes[1:]} == {voter.user_id for voter in voters}

    asyncio.run(check())


def test_batches_of_two_processes_never_wait_for_each_other(database: str) -> None:
    """They revise the same activities and submit the same requests, in opposite orders."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            children = [an_organization(parent_id=history.head.id) for _ in range(4)]
            creations = [store.commit(history.suborganization(child)) for child in children]
            assert await asyncio.gather(*creations) == [COMMITTED] * 4
            by_id = {child.id: child for child in children}
            for round_ in range(10):
                opened_ones = [await waiting(store, CommitHistory(child)) for child in children for _ in range(3)]
                named = [(child, f"sha256:{round_}-{number}") for child in children for number in range(3)]
                ours, theirs = [
                    [
                        *[of(approved(one, voter), by_id[one.organization_id]) for one in opened_ones],
                        *[CommitHistory(child).signing(fingerprint=fingerprint) for child, fingerprint in named],
                    ]
                    for voter in (GRACE, EDA)
                ]
                found = await asyncio.gather(*map(store.commit, ours), *map(other.commit, reversed(theirs)))
                for one, another in zip(found[:24], reversed(found[24:]), strict=True):
                    assert COMMITTED in (one, another)
                    assert {one, another} & {CONFLICT, DUPLICATE}

    asyncio.run(run())
