"""The guarantees of a commit: complete or not at all, once, in order, across processes."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from keystead.api.errors import AlreadyExists, Internal, Unavailable
from keystead.organizations.organization import Organization, Version
from keystead.pipeline.store import Commit, CommitResult, Page
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, new_history
from tests.support.commit_samples import a_wallet, an_account, an_organization
from tests.support.hanging import PATIENCE_S

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult


async def results(store: DatabaseStore, commits: Sequence[Commit]) -> list[CommitResult | BaseException]:
    """Hand all of them in before any is written, so that they meet in groups."""
    return await asyncio.gather(*[store.commit(commit) for commit in commits], return_exceptions=True)


async def assert_holds(store: DatabaseStore, history: CommitHistory, kept: Sequence[Commit]) -> None:
    """The database has these commits' activities, and the organization as the history foresaw it."""
    assert await store.organization(history.head.id) == history.head
    found = await store.activities.page(history.head.id, (), (), Page(limit=1000))
    assert found == sorted([c.activity for c in kept if c.activity], key=lambda a: a.id, reverse=True)


def test_a_chain_handed_in_at_once(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            user = history.head.users.in_order()[0]
            commits = [
                history.step(),
                history.step(replace(user, user_name="first")),
                history.signing(),
                history.step(replace(user, user_name="second")),
                *[history.step() for _ in range(40)],
            ]
            assert await results(store, commits) == [COMMITTED] * 44
            assert history.head.version.number == 44
            for place in (store, other):
                await assert_holds(place, history, commits)

    asyncio.run(run())


def test_one_odd_commit_among_good_ones(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            first = history.step()
            assert await store.commit(first) is COMMITTED
            assert first.activity is not None
            elsewhere = Version(history.head.version.number, "somebody else")
            stale = CommitHistory(replace(history.head, version=elsewhere))
            beside = CommitHistory(history.head)
            commits = [
                history.step(),
                history.signing(fingerprint=first.activity.fingerprint),
                stale.step(),
                history.step(),
                history.signing(),
                beside.step(),
            ]
            assert await results(store, commits) == [
                COMMITTED,
                DUPLICATE,
                CONFLICT,
                COMMITTED,
                COMMITTED,
                CONFLICT,
            ]
            kept = [first, *[commits[number] for number in (0, 3, 4)]]
            for place in (store, other):
                await assert_holds(place, history, kept)
                assert len(await place.attached.interface_texts(history.head.id)) == 3

    asyncio.run(run())


def test_the_same_request_twice_in_one_group(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            commits = [history.signing(fingerprint="sha256:once"), history.signing(fingerprint="sha256:once")]
            assert await results(store, commits) == [COMMITTED, DUPLICATE]
            await assert_holds(store, history, commits[:1])
            assert await store.activities.get(history.head.id, commits[1].activity.id) is None  # type: ignore[union-attr]

    asyncio.run(run())


def test_a_version_of_the_same_number_but_another_history_conflicts(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            theirs = CommitHistory(history.head)
            assert await store.commit(history.step()) is COMMITTED
            theirs.step()
            assert theirs.head.version.number == history.head.version.number
            assert await other.commit(theirs.step()) is CONFLICT
            assert await other.organization(history.head.id) == history.head

    asyncio.run(run())


def test_what_contradicts_the_tables_is_refused_whole(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            wallet = a_wallet()
            account = an_account(history.head.id, wallet.wallet_id)
            good = history.step(wallet, attachments=(account,))
            twin = an_account(history.head.id, wallet.wallet_id)
            before = history.head
            commits = [good, history.signing(), history.step(wallet, attachments=(twin,)), history.step()]
            history.head = before
            good_after = history.signing()
            found = await results(store, [*commits, good_after])
            assert isinstance(found[2], AlreadyExists)
            assert [*found[:2], *found[3:]] == [COMMITTED, COMMITTED, CONFLICT, COMMITTED]
            await assert_holds(store, history, [*commits[:2], good_after])
            assert await store.accounts.page(history.head.id, None, Page(limit=9)) == [account.account]

    asyncio.run(run())


def test_a_commit_that_cannot_be_written_fails_alone(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            good = [history.step()]
            unwritable = history.signing()
            assert unwritable.activity is not None
            unwritable = replace(unwritable, activity=replace(unwritable.activity, created_at_ms=2**80))
            good.append(history.step())
            found = await results(store, [good[0], unwritable, good[1]])
            assert isinstance(found[1], (Internal, Unavailable))
            assert [found[0], found[2]] == [COMMITTED, COMMITTED]
            await assert_holds(store, history, good)

    asyncio.run(run())


def test_closing_finishes_what_was_handed_in(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            commits = [history.step() for _ in range(300)]
            futures = [store.commit(commit) for commit in commits]
            await store.close()
            assert [future.result() for future in futures] == [COMMITTED] * 300
            with pytest.raises(Unavailable):
                await store.commit(history.step())
            with pytest.raises(Unavailable):
                await store.organization(history.head.id)
        async with opened(database) as store:
            history.head = replace(history.head)
            assert (await store.organization(history.head.id)).version.number == 301  # type: ignore[union-attr]

    asyncio.run(run())


def test_a_caller_that_gave_up_does_not_disturb_the_others(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            commits = [history.step() for _ in range(3)]
            futures = [store.commit(commit) for commit in commits]
            futures[1].cancel()
            assert await futures[0] is COMMITTED
            assert await futures[2] is COMMITTED
            await assert_holds(store, history, commits)

    asyncio.run(run())


async def _compete(store: DatabaseStore, organization: Organization, count: int) -> list[str]:
    """Commit `count` changes, each begun from the newest version, again where another was first."""
    activity_ids: list[str] = []
    while len(activity_ids) < count:
        newest = await store.organization(organization.id)
        assert newest is not None
        commit = CommitHistory(newest).step()
        if await store.commit(commit) is COMMITTED:
            assert commit.activity is not None
            activity_ids.append(commit.activity.id)
            seen = await store.organization(organization.id)
            assert seen is not None
            assert seen.version.number >= newest.version.number + 1
    return activity_ids


def _compete_in_process(
    database: str, organization: Organization, count: int, found: multiprocessing.Queue[list[str]]
) -> None:
    async def run() -> list[str]:
        async with opened(database) as store:
            return await _compete(store, organization, count)

    found.put(asyncio.run(run()))


def test_nothing_is_lost_or_doubled_between_processes(database: str) -> None:
    async def found() -> Organization:
        async with opened(database) as store:
            return (await new_history(store)).head

    organization = asyncio.run(found())
    context = multiprocessing.get_context("spawn")
    answers: multiprocessing.Queue[list[str]] = context.Queue()
    processes = [
        context.Process(target=_compete_in_process, args=(database, organization, 25, answers)) for _ in range(2)
    ]
    for process in processes:
        process.start()

    async def meanwhile() -> list[str]:
        async with opened(database) as store, opened(database) as other:
            mine = await asyncio.gather(
                *[_compete(place, organization, 10) for place in (store, other) for _ in range(3)]
            )
            return [activity_id for ids in mine for activity_id in ids]

    reported = asyncio.run(meanwhile()) + [
        activity_id for _ in processes for activity_id in answers.get(timeout=PATIENCE_S)
    ]
    for process in processes:
        process.join()

    async def check() -> None:
        async with opened(database) as store:
            kept = await store.activities.page(organization.id, (), (), Page(limit=1000))
            newest = await store.organization(organization.id)
            assert kept is not None
            assert newest is not None
            assert sorted(reported) == sorted(activity.id for activity in kept)
            assert newest.version.number == 1 + len(reported) == 1 + 2 * 25 + 6 * 10
            assert len(newest.contract_interfaces) == 1 + len(reported)
            assert len(await store.attached.interface_texts(organization.id)) == len(reported)

    asyncio.run(check())


def test_many_organizations_through_two_stores(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            children = [an_organization(parent_id=history.head.id) for _ in range(8)]
            assert await results(store, [history.suborganization(child) for child in children]) == [COMMITTED] * 8

            async def through(place: DatabaseStore, child: Organization) -> int:
                return len(await _compete(place, child, 10))

            await asyncio.gather(*[through(place, child) for child in children for place in (store, other)])
            for child in children:
                newest = await store.organization(child.id)
                assert newest is not None
                assert newest.version.number == 21

    asyncio.run(run())
