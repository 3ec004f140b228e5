"""Organizations that are read in slices: complete, of one moment, and with other work in between."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from keystead.pipeline.store import CommitResult
from keystead.storage.base import DatabaseStore
from keystead.storage.sqlite import ROWS_AT_ONCE
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, found_by
from tests.support.commit_samples import a_user, an_organization


async def large(store: DatabaseStore, users: int) -> CommitHistory:
    """The history of an organization with this number of users."""
    organization = an_organization(users=tuple(a_user() for _ in range(users)))
    assert await store.bootstrap(organization, (), found_by(organization), {})
    return CommitHistory(organization)


@pytest.mark.parametrize("users", [1, ROWS_AT_ONCE - 30, ROWS_AT_ONCE, 2 * ROWS_AT_ONCE])
def test_every_record_is_read(database: str, users: int) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await large(store, users)
            assert await other.organization(history.head.id) == history.head

    asyncio.run(run())


def test_a_commit_during_the_read_is_seen_afterwards(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await large(store, 2 * ROWS_AT_ONCE)
            reading = asyncio.create_task(other.organization(history.head.id))
            users = history.head.users.in_order()
            for number in range(20):
                step = history.step(*(replace(user, user_name=f"{number}") for user in (users[0], users[-1])))
                assert await store.commit(step) is CommitResult.COMMITTED
                assert await other.version(history.head.id) == history.head.version
            found = await reading
            assert found is not None
            assert found.users[users[0].user_id].user_name == found.users[users[-1].user_id].user_name
            assert await other.organization(history.head.id) == history.head

    asyncio.run(run())


def test_the_caches_are_dropped_during_the_read(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await large(store, 2 * ROWS_AT_ONCE)
            reading = asyncio.create_task(other.organization(history.head.id))
            for _ in range(3):
                await asyncio.sleep(0.005)
                other._cache.clear()
            assert await reading == history.head

    asyncio.run(run())
