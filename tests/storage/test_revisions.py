"""Activities that change: revisions, votes, evaluations, with or without a change of the organization.

Not here: who wins where several change one at the same instant (`test_races`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.records import Evaluation
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import Commit, CommitResult, Page
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, approved, awaiting, new_history, of, waiting
from tests.support.commit_samples import (
    A_FAILURE,
    AN_APP_PROOF,
    a_user,
    an_activity,
    an_evaluation,
    an_interface,
)

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult
OPEN, DONE, FAILED = ActivityStatus.CONSENSUS_NEEDED, ActivityStatus.COMPLETED, ActivityStatus.FAILED
GRACE, EDA = a_user("Grace"), a_user("Eda")


async def listed(
    store: DatabaseStore, activity: RecordedActivity, statuses: Sequence[ActivityStatus], types: Sequence[str] = ()
) -> bool:
    found = await store.activities.page(activity.organization_id, statuses, types, Page(limit=100))
    assert found is not None
    return activity in found


def test_a_revision_takes_the_place_of_the_one_before(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            first = await waiting(store, history)
            second = approved(first, GRACE)
            assert await other.commit(of(second, history.head)) is COMMITTED
            third = replace(
                approved(second, EDA, status=FAILED),
                app_proofs=(AN_APP_PROOF,),
                failure=A_FAILURE,
                approvals_since_ms=first.approvals_since_ms + 7,
            )
            assert third.revision == 2
            assert [len(one.votes) for one in (first, second, third)] == [1, 2, 3]
            assert await store.commit(of(third, history.head)) is COMMITTED
            for place in (store, other):
                assert await place.activities.get(history.head.id, first.id) == third
                assert await place.activities.with_fingerprint(history.head.id, first.fingerprint) == third
                for types in ((), (first.type,)):
                    assert await listed(place, third, (FAILED,), types)
                    assert not await listed(place, third, (OPEN, DONE), types)
                found = await place.activities.page(history.head.id, (OPEN,), (), Page(limit=9))
                assert found == []

    asyncio.run(run())


def test_only_the_next_revision_is_taken(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            first = await waiting(store, history)
            second = approved(first, GRACE)
            assert await store.commit(of(second, history.head)) is COMMITTED
            late = [
                approved(first, EDA),
                replace(approved(second, EDA), revision=3),
                replace(approved(second, EDA), organization_id="another organization"),
                replace(approved(second, EDA), id="unknown"),
            ]
            for activity in late:
                evaluation = an_evaluation(history.head.id, activity.id)
                assert (
                    await store.commit(replace(of(activity, history.head), evaluations=(evaluation,))) is CONFLICT
                )
                assert await store.activities.evaluations(history.head.id, activity.id) == []
            assert await store.commit(of(replace(first, id="another"), history.head)) is DUPLICATE
            assert await store.activities.get(history.head.id, first.id) == second

    asyncio.run(run())


def test_votes_are_kept_by_user(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            first = await waiting(store, history)
            second = approved(first, GRACE, EDA)
            assert await store.commit(of(second, history.head)) is COMMITTED
            third = approved(second, GRACE)
            rejection = replace(third.votes[-1], selection=VoteSelection.REJECTED, message="no \x00 ü")
            third = replace(third, votes=(*third.votes[:-1], rejection))
            assert [vote.user_id for vote in third.votes[1:]] == [EDA.user_id, GRACE.user_id]
            assert await store.commit(of(third, history.head)) is COMMITTED
            assert await store.activities.get(history.head.id, first.id) == third

    asyncio.run(run())


def test_an_approval_that_changes_the_organization(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            first = await waiting(store, history)
            done = approved(first, GRACE, status=DONE)

            def executing(begun_from: CommitHistory, activity: RecordedActivity) -> Commit:
                commit = of(activity, begun_from.head)
                return replace(commit, changes=begun_from.write_of(activity, an_interface()))

            elsewhere = replace(history.head.version, changed_by="somebody else")
            stale = CommitHistory(replace(history.head, version=elsewhere))
            assert await store.commit(executing(stale, done)) is CONFLICT
            assert await store.activities.get(history.head.id, first.id) == first
            beside = CommitHistory(history.head)
            assert await store.commit(executing(beside, replace(done, revision=2))) is CONFLICT
            assert await other.organization(history.head.id) == history.head
            assert await store.commit(executing(history, done)) is COMMITTED
            for place in (store, other):
                assert await place.organization(history.head.id) == history.head
                assert await place.activities.get(history.head.id, first.id) == done

    asyncio.run(run())


def test_one_odd_revision_among_good_ones(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            opened_ones = [await waiting(store, history) for _ in range(4)]
            revisions = [approved(activity, GRACE, status=DONE) for activity in opened_ones]
            late = replace(revisions[3], revision=7)
            commits = [of(one, history.head) for one in (revisions[0], late, revisions[1])]
            results = await asyncio.gather(*map(store.commit, commits))
            assert results == [COMMITTED, CONFLICT, COMMITTED]
            step = history.step()
            known = history.signing(fingerprint=opened_ones[0].fingerprint)
            results = await asyncio.gather(*map(store.commit, [step, known, of(revisions[2], history.head)]))
            assert results == [COMMITTED, DUPLICATE, COMMITTED]
            for place in (store, other):
                assert await place.organization(history.head.id) == history.head
                for activity in (*revisions[:3], opened_ones[3]):
                    assert await place.activities.get(history.head.id, activity.id) == activity

    asyncio.run(run())


def test_many_good_revisions_in_one_group(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            opened_ones = [await waiting(store, history) for _ in range(9)]
            revisions = [approved(activity, GRACE, status=DONE) for activity in opened_ones]
            commits = [
                replace(
                    of(one, history.head),
                    evaluations=(an_evaluation(history.head.id, one.id),),
                    changes=history.write_of(one, EDA),
                )
                for one in revisions
            ]
            assert await asyncio.gather(*map(store.commit, commits)) == [COMMITTED] * 9
            assert await other.organization(history.head.id) == history.head
            for commit, activity in zip(commits, revisions, strict=True):
                assert await other.activities.get(history.head.id, activity.id) == activity
                assert await other.activities.evaluations(history.head.id, activity.id) == list(commit.evaluations)

    asyncio.run(run())


def test_evaluations(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            assert await store.activities.evaluations(history.head.id, "denied") == []
            said = [an_evaluation(history.head.id, "denied") for _ in range(4)]

            def denied(one: Evaluation) -> Commit:
                return replace(of(an_activity(history.head), history.head), activity=None, evaluations=(one,))

            commits = [denied(said[0]), history.step(), denied(said[2]), denied(said[1])]
            assert await asyncio.gather(*map(store.commit, commits)) == [COMMITTED] * 4
            assert await other.activities.evaluations(history.head.id, "denied") == said[:3]
            activity = awaiting(history.signing())
            voted = [an_evaluation(history.head.id, activity.id) for _ in range(2)]
            assert await store.commit(replace(of(activity, history.head), evaluations=(voted[0],))) is COMMITTED
            assert (
                await store.commit(replace(of(approved(activity, GRACE), history.head), evaluations=(voted[1],)))
                is COMMITTED
            )
            assert await other.activities.evaluations(history.head.id, activity.id) == voted
            assert await other.activities.evaluations("another organization", activity.id) == []
            assert await other.activities.get(history.head.id, "denied") is None
            assert await other.organization(history.head.id) == history.head

    asyncio.run(run())
