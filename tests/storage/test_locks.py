"""The lock of an organization: no other process changes it while it lasts.

On SQLite, where one process serves, the lock is of the whole file. Not here: how a lock ends
(`test_ends_of_locks`), how long the pipeline keeps it (`test_organization_writers`).
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from keystead.api.errors import AlreadyExists
from keystead.pipeline.store import CommitResult, Page
from keystead.storage.sqlite import database as sqlite_database
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import MakeDatabase, commits_under_lock, opened, waits_for_lock
from tests.support.commit_history import CommitHistory, new_history
from tests.support.commit_samples import a_wallet, an_account, an_organization

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult
ROOT = Path(__file__).parents[2]


def test_commits_under_a_lock_are_written_together(lockable: str) -> None:
    async def run() -> None:
        async with opened(lockable) as store, opened(lockable) as other:
            history = await new_history(store)
            first = history.head
            async with store.locked(first.id) as locked:
                assert locked.organization == first
                steps = [history.step(), history.signing(), history.step()]
                assert await other.organization(first.id) == first, "reads go on"
                assert await locked.write(steps) == [COMMITTED] * 3
                assert await store.organization(first.id) is history.head, "kept in memory, as after any commit"
                assert await other.organization(first.id) == history.head
            assert len(await other.activities.page(first.id, (), (), Page(limit=9)) or []) == 3

    asyncio.run(run())


def test_a_lock_without_a_commit_changes_nothing(lockable: str) -> None:
    async def run() -> None:
        async with opened(lockable) as store, opened(lockable) as other:
            history = await new_history(store)
            for writes in (False, True):
                async with store.locked(history.head.id) as locked:
                    if writes:
                        assert await locked.write([]) == []
            assert await other.commit(history.step()) is COMMITTED
            await commits_under_lock(store, history)
            async with store.locked(an_organization().id) as locked:
                assert locked.organization is None

    asyncio.run(run())


def test_what_contradicts_the_tables_is_refused_alone(lockable: str) -> None:
    """What cannot be written under the lock is written without it."""

    async def run() -> None:
        async with opened(lockable) as store:
            history = await new_history(store)
            wallet = a_wallet()
            account, twin = [an_account(history.head.id, wallet.wallet_id) for _ in range(2)]
            good = history.step(wallet, attachments=(account,))
            before = history.head
            bad, after_bad = history.step(wallet, attachments=(twin,)), history.step()
            async with store.locked(before.id) as locked:
                results = await locked.write([good, bad, after_bad])
            assert [results[0], results[2]] == [COMMITTED, CONFLICT]
            assert isinstance(results[1], AlreadyExists)
            assert await store.organization(history.head.id) == before
            async with store.locked(before.id) as locked:
                (result,) = await locked.write([bad])
            assert isinstance(result, AlreadyExists)
            history.head = before
            await commits_under_lock(store, history)

    asyncio.run(run())


def test_equal_requests_under_a_lock_are_carried_out_once(lockable: str) -> None:
    async def run() -> None:
        async with opened(lockable) as store:
            history = await new_history(store)
            first = history.signing(fingerprint="the same")
            async with store.locked(history.head.id) as locked:
                again = history.signing(fingerprint="the same")
                assert await locked.write([first, again, history.step()]) == [COMMITTED, DUPLICATE, COMMITTED]
            async with store.locked(history.head.id) as locked:
                assert await locked.write([history.signing(fingerprint="the same")]) == [DUPLICATE]
            assert await store.organization(history.head.id) == history.head

    asyncio.run(run())


def test_a_commit_after_the_write_is_like_any_other(lockable: str) -> None:
    """The write unlocks, so others may commit then."""

    async def run() -> None:
        async with opened(lockable) as store, opened(lockable) as other:
            history = await new_history(store)
            async with store.locked(history.head.id) as locked:
                assert await locked.write([history.step()]) == [COMMITTED]
                stale = CommitHistory(history.head).step()
                if not lockable.startswith("sqlite"):  # there, the block locks
                    assert await other.commit(history.step()) is COMMITTED
                assert await locked.write([history.step(), history.step()]) == [COMMITTED] * 2
                assert await locked.write([stale]) == [CONFLICT]
            assert await store.organization(history.head.id) == history.head
            assert await other.commit(history.step()) is COMMITTED

    asyncio.run(run())


def test_others_do_not_wait_but_lose_and_then_lock(new_postgres: MakeDatabase) -> None:
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            async with store.locked(history.head.id) as locked:
                for commit in (CommitHistory(history.head).step(), CommitHistory(history.head).signing()):
                    assert await other.commit(commit) is CONFLICT
                    assert await store.commit(commit) is CONFLICT
                locking = await waits_for_lock(other, history)
                assert await locked.write([history.step()]) == [COMMITTED]
                await locking
            assert await store.organization(history.head.id) == history.head

    asyncio.run(run())


def test_others_lose_while_the_file_is_locked(new_sqlite: MakeDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of another process loses. A signature does not: it changes nothing."""
    monkeypatch.setattr(sqlite_database, "LOCK_S", 600)
    database = new_sqlite()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            async with store.locked(history.head.id) as locked:
                assert await other.commit(CommitHistory(history.head).step()) is CONFLICT
                assert await other.commit(CommitHistory(history.head).signing()) is COMMITTED
                locking = await waits_for_lock(other, history)
                assert await locked.write([history.step()]) == [COMMITTED]
            await locking
            assert await store.organization(history.head.id) == history.head

    asyncio.run(run())


def test_other_organizations_go_on(new_postgres: MakeDatabase) -> None:
    """In both processes."""
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            children = [CommitHistory(an_organization(parent_id=history.head.id)) for _ in range(8)]
            creations = [store.commit(history.suborganization(child.head)) for child in children]
            assert await asyncio.gather(*creations) == [COMMITTED] * 8
            async with store.locked(history.head.id):
                for place in (store, other):
                    commits = [each for child in children for each in (child.signing(), child.step())]
                    assert await asyncio.gather(*map(place.commit, commits)) == [COMMITTED] * 16
                await commits_under_lock(other, children[0])

    asyncio.run(run())


def test_a_lock_on_a_file_that_is_free_for_moments(new_sqlite: MakeDatabase) -> None:
    """Another process commits without a pause, to a slow disk."""
    database = new_sqlite()
    over = threading.Event()

    def block() -> None:
        blocker = sqlite3.connect(database.removeprefix("sqlite:///"), isolation_level=None)
        while not over.is_set():
            blocker.execute("BEGIN IMMEDIATE")
            time.sleep(0.05)
            blocker.execute("ROLLBACK")
            time.sleep(0.004)
        blocker.close()

    async def run() -> None:
        async with opened(database, timeout_s=60) as store:
            history = await new_history(store)
            blocking = threading.Thread(target=block)
            blocking.start()
            try:
                for _ in range(5):
                    assert await store.commit(history.step()) is COMMITTED
            finally:
                over.set()
                blocking.join()

    asyncio.run(run())


def test_under_a_lock_no_race_is_lost(new_postgres: MakeDatabase) -> None:
    """Many locks at two stores, against others who commit without one."""
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            organization_id, over = history.head.id, asyncio.Event()

            async def locks(place: DatabaseStore) -> None:
                for _ in range(5):
                    async with place.locked(organization_id) as locked:
                        assert locked.organization is not None
                        theirs = CommitHistory(locked.organization)
                        assert await locked.write([theirs.step() for _ in range(3)]) == [COMMITTED] * 3

            async def race(place: DatabaseStore) -> int:
                won = 0
                while not over.is_set():
                    newest = await place.organization(organization_id)
                    assert newest is not None
                    won += await place.commit(CommitHistory(newest).step()) is COMMITTED
                return won

            racing = [asyncio.create_task(race(place)) for place in (store, other)]
            await asyncio.gather(*[locks(place) for place in (store, other) for _ in range(3)])
            over.set()
            won = sum(await asyncio.gather(*racing))
            for place in (store, other):
                newest = await place.organization(organization_id)
                assert newest is not None
                assert newest.version.number == 1 + 2 * 3 * 5 * 3 + won

    asyncio.run(run())
