"""What every store promises about commits: the two databases, and the store in memory that tests of the pipeline
use.

Here: the promises that the pipeline relies on. Not here: what only databases have (the other tests of this folder).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from msgspec.structs import replace

from keystead.api.errors import AlreadyExists
from keystead.organizations.organization import Organization, Version
from keystead.pipeline.store import CommitResult, Page, Store
from tests.storage.conftest import ENGINES, opened
from tests.support.commit_history import CommitHistory, approved, awaiting, new_history, of
from tests.support.commit_samples import a_user, a_wallet, an_account, an_organization
from tests.support.memory_database import MemoryDatabase
from tests.support.memory_store import MemoryStore

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult
Opened = tuple[Store, Store, CommitHistory]
"""Two stores on one database, and the history of its first organization."""

OpenStores = Callable[[], AbstractAsyncContextManager[Opened]]


@pytest.fixture(params=[*ENGINES, "memory"])
def open_stores(request: pytest.FixtureRequest) -> OpenStores:
    @asynccontextmanager
    async def in_memory() -> AsyncIterator[Opened]:
        database, organization = MemoryDatabase(), an_organization()
        database.insert(organization)
        yield MemoryStore(database), MemoryStore(database), CommitHistory(organization)

    if request.param == "memory":
        return in_memory
    url: str = request.getfixturevalue(f"new_{request.param}")()

    @asynccontextmanager
    async def in_database() -> AsyncIterator[Opened]:
        async with opened(url) as store, opened(url) as other:
            yield store, other, await new_history(store)

    return in_database


async def newest(store: Store, organization_id: str) -> Organization:
    organization = await store.organization(organization_id)
    assert organization is not None
    return organization


def test_commits_handed_in_together_take_effect_in_order(open_stores: OpenStores) -> None:
    async def run() -> None:
        async with open_stores() as (store, other, history):
            commits = [history.step(), history.signing(), history.step(), history.step(), history.signing()]
            assert await asyncio.gather(*map(store.commit, commits)) == [COMMITTED] * 5
            for place in (store, other):
                assert await newest(place, history.head.id) == history.head
                found = await place.activities.page(history.head.id, (), (), Page(limit=9))
                assert found is not None
                assert {one.id for one in found} == {one.activity.id for one in commits if one.activity}

    asyncio.run(run())


def test_a_commit_succeeds_only_on_the_version_it_was_decided_on(open_stores: OpenStores) -> None:
    async def run() -> None:
        async with open_stores() as (store, other, history):
            stale_signing, stale_step = history.signing(), CommitHistory(history.head).step()
            forged = replace(history.head, version=Version(history.head.version.number, "somebody else"))
            assert await store.commit(CommitHistory(forged).step()) is CONFLICT
            assert await store.commit(of(awaiting(history.signing()), forged)) is CONFLICT
            assert await store.commit(history.step()) is COMMITTED
            for place in (store, other):
                assert await place.commit(stale_signing) is CONFLICT
                assert await place.commit(stale_step) is CONFLICT
            assert await other.commit(history.signing()) is COMMITTED
            assert await newest(other, history.head.id) == history.head

    asyncio.run(run())


def test_equal_bytes_make_one_activity(open_stores: OpenStores) -> None:
    async def run() -> None:
        async with open_stores() as (store, other, history):
            commits = [history.signing(fingerprint="sha256:once") for _ in range(3)]
            assert await asyncio.gather(*map(store.commit, commits[:2])) == [COMMITTED, DUPLICATE]
            assert await other.commit(commits[2]) is DUPLICATE
            assert await other.activities.with_fingerprint(history.head.id, "sha256:once") == commits[0].activity

    asyncio.run(run())


def test_an_activity_is_revised_once(open_stores: OpenStores) -> None:
    async def run() -> None:
        async with open_stores() as (store, other, history):
            activity = awaiting(history.signing())
            assert await store.commit(of(activity, history.head)) is COMMITTED
            rivals = [approved(activity, a_user(name)) for name in ("Grace", "Eda")]
            assert await store.commit(of(rivals[0], history.head)) is COMMITTED
            assert await other.commit(of(rivals[1], history.head)) is CONFLICT
            assert await other.activities.get(history.head.id, activity.id) == rivals[0]

    asyncio.run(run())


def test_what_contradicts_the_tables_changes_nothing(open_stores: OpenStores) -> None:
    async def run() -> None:
        async with open_stores() as (store, other, history):
            wallet = a_wallet()
            account, twin = [an_account(history.head.id, wallet.wallet_id) for _ in range(2)]
            assert await store.commit(history.step(wallet, attachments=(account,))) is COMMITTED
            before = history.head
            with pytest.raises(AlreadyExists):
                await store.commit(history.step(wallet, attachments=(twin,)))
            assert await newest(other, before.id) == before
            assert await other.accounts.page(before.id, None, Page(limit=9)) == [account.account]

    asyncio.run(run())


def test_commits_under_a_lock(open_stores: OpenStores) -> None:
    async def run() -> None:
        async with open_stores() as (store, other, history):
            async with store.locked(history.head.id) as locked:
                assert locked.organization == history.head
                before = history.head
                commits = [history.step(), history.signing(), history.step()]
                assert await newest(other, before.id) == before
                assert await locked.write(commits) == [COMMITTED] * 3
            async with other.locked(history.head.id) as theirs:
                assert theirs.organization == history.head

    asyncio.run(run())
