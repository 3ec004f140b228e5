"""Organizations that are read in slices: complete, of one moment, and with other work in between."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from keystead.organizations.organization import ChangingOrganization
from keystead.pipeline.store import CommitResult
from keystead.primitives.share import Share
from keystead.storage.schema import migrate
from keystead.storage.sqlite.database import ROWS_AT_ONCE, SqliteDatabase
from keystead.storage.sqlite.snapshots import restore_snapshot, take_snapshot
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, found_by
from tests.support.commit_samples import a_user, an_organization
from tests.support.hanging import PATIENCE_S


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


def test_many_changes_of_another_process_are_read_in_slices(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sliced, each = list[object](), Share.each

    async def noted(share: Share, organization_id: str, work: Any, items: Any) -> list[Any]:
        sliced.append(getattr(work, "__self__", None))
        return await each(share, organization_id, work, items)

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await large(store, ROWS_AT_ONCE)
            assert await other.organization(history.head.id) == history.head
            monkeypatch.setattr(Share, "each", noted)
            step = history.step(*(replace(user, user_name="changed") for user in history.head.users.in_order()))
            assert await store.commit(step) is CommitResult.COMMITTED
            found = await other.organization(history.head.id)
            assert found == history.head
            assert any(isinstance(work, ChangingOrganization) for work in sliced)

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


BEFORE_THE_RESTORE_S = [0.0, 0.003, 0.02]


async def changes(store: DatabaseStore, history: CommitHistory, who: int, count: int) -> None:
    user = history.head.users.in_order()[who]
    for number in range(count):
        step = history.step(replace(user, user_name=f"{who}, {number}"))
        assert await store.commit(step) is CommitResult.COMMITTED


@pytest.mark.parametrize("delay_s", BEFORE_THE_RESTORE_S)
def test_a_snapshot_is_restored_during_the_read(tmp_path: Path, delay_s: float) -> None:
    url = f"sqlite:///{tmp_path / 'keystead.db'}"
    migrate(url)

    async def run() -> None:
        async with opened(url) as store:
            assert isinstance(store.database, SqliteDatabase)
            history = await large(store, 3 * ROWS_AT_ONCE)
            restored = history.head
            snapshot = await take_snapshot(store)
            await changes(store, history, who=0, count=5)
            store._cache.clear()
            reading = asyncio.create_task(store.organization(restored.id))
            await asyncio.sleep(delay_s)
            await restore_snapshot(store, snapshot)
            assert await asyncio.wait_for(store.organization(restored.id), PATIENCE_S) == restored
            assert await asyncio.wait_for(reading, PATIENCE_S) in (restored, history.head)

    asyncio.run(run())


@pytest.mark.parametrize("delay_s", BEFORE_THE_RESTORE_S)
def test_the_file_is_replaced_during_the_read(tmp_path: Path, delay_s: float) -> None:
    used, backup = tmp_path / "used.db", tmp_path / "backup.db"
    migrate(f"sqlite:///{used}")

    async def run() -> None:
        async with opened(f"sqlite:///{used}") as store:
            first = (await large(store, 3 * ROWS_AT_ONCE)).head
        shutil.copy(used, backup)
        for path, who, count in ((used, 0, 5), (backup, 1, 8)):
            async with opened(f"sqlite:///{path}") as store:
                history = CommitHistory(first)
                await changes(store, history, who, count)
        async with opened(f"sqlite:///{used}") as store:
            reading = asyncio.create_task(store.organization(first.id))
            await asyncio.sleep(delay_s)
            backup.replace(used)
            await store.ready()
            await asyncio.gather(reading, return_exceptions=True)
            assert await asyncio.wait_for(store.organization(first.id), PATIENCE_S) == history.head

    asyncio.run(run())
