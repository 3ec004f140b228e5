"""How the lock of an organization ends, whatever happens to its holder: no process waits for it for ever.

Not here: what a lock does while it lasts (`test_locks`).
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from keystead.api.enums import ActivityStatus
from keystead.api.errors import AlreadyExists, ServiceError, Unavailable
from keystead.pipeline.store import CommitResult
from keystead.storage.postgres import connections as postgres_connections
from keystead.storage.postgres.database import PostgresDatabase
from keystead.storage.sqlite import database as sqlite_database
from tests.storage.conftest import A_WHILE_S, MakeDatabase, commits_under_lock, opened, waits_for_lock
from tests.support.commit_history import CommitHistory, approved, new_history, of, waiting
from tests.support.commit_samples import a_user
from tests.support.hanging import not_hanging
from tests.support.tcp_proxy import tcp_proxy_to

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult
ROOT = Path(__file__).parents[2]


def test_waiting_for_a_lock_has_an_end(new_postgres: MakeDatabase) -> None:
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database, timeout_s=0.2) as other:
            history = await new_history(store)
            async with store.locked(history.head.id):
                with pytest.raises(Unavailable, match="the database"):
                    await commits_under_lock(other, history)
            while True:  # reads of this store have the same short limit
                try:
                    await commits_under_lock(other, history)
                except Unavailable:
                    continue
                break

    asyncio.run(run())


def test_waiting_for_the_file_has_an_end(new_sqlite: MakeDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its holder may be suspended, so others go on without the lock. Commits are checked all the same."""
    monkeypatch.setattr(sqlite_database, "LOCK_S", 0.05)
    database = new_sqlite()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            async with store.locked(history.head.id) as locked:
                late = CommitHistory(history.head).step()
                async with other.locked(history.head.id) as theirs:
                    assert await theirs.write([history.step()]) == [COMMITTED]
                assert await locked.write([late]) == [CONFLICT]

    asyncio.run(run())


def test_a_task_that_gives_up_waiting_locks_nothing(lockable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_database, "LOCK_S", 600)

    async def run() -> None:
        async with opened(lockable) as store, opened(lockable) as other:
            history = await new_history(store)
            async with store.locked(history.head.id):
                locking = await waits_for_lock(other, history)
                locking.cancel()
                await asyncio.wait([locking])
                assert locking.cancelled()
            for place in (store, other):
                await commits_under_lock(place, history)

    asyncio.run(run())


@pytest.mark.parametrize("moment", ["in the block", "while it writes"])
def test_a_task_that_is_cancelled_unlocks(lockable: str, moment: str) -> None:
    """While it writes, the commit is there or not, and the organization is free in both cases."""

    async def run() -> None:
        async with opened(lockable) as store, opened(lockable) as other:
            history = await new_history(store)
            before, commit = history.head, history.step()
            begun = asyncio.Event()

            async def block() -> None:
                async with store.locked(before.id) as locked:
                    begun.set()
                    if moment == "in the block":
                        await asyncio.Event().wait()
                    await locked.write([commit])

            blocking = asyncio.create_task(block())
            await begun.wait()
            blocking.cancel()
            await asyncio.wait([blocking])
            assert blocking.cancelled()
            result: CommitResult | ServiceError = CONFLICT
            while result is CONFLICT:  # on SQLite, the write may go on
                newest = await other.organization(before.id)
                assert newest in (before, history.head)
                async with other.locked(before.id) as locked:
                    assert locked.organization is not None
                    after = CommitHistory(locked.organization)
                    (result,) = await locked.write([after.step()])
            assert result is COMMITTED
            await commits_under_lock(store, after)

    with not_hanging():
        asyncio.run(run())


def test_a_block_that_fails_unlocks(lockable: str) -> None:
    async def run() -> None:
        async with opened(lockable) as store, opened(lockable) as other:
            history = await new_history(store)
            for error in (AlreadyExists("of the block"), ValueError("of the block")):
                with pytest.raises(type(error), match="of the block"):
                    async with store.locked(history.head.id):
                        raise error
                for place in (other, store):
                    await commits_under_lock(place, history)

    asyncio.run(run())


def test_closing_while_an_organization_is_locked(lockable: str) -> None:
    """Either the commits under the lock are written, or they are refused. No connection is left."""

    async def run() -> None:
        async with opened(lockable) as store, opened(lockable) as other:
            history = await new_history(store)
            before, commit = history.head, history.step()
            async with store.locked(before.id) as locked:
                closing = asyncio.create_task(store.close())
                await asyncio.wait([closing], timeout=A_WHILE_S)
                (result,) = await locked.write([commit])
            await closing
            written = history.head if result is COMMITTED else before
            assert result is COMMITTED or isinstance(result, Unavailable)
            assert await other.organization(before.id) == written
            with pytest.raises(Unavailable, match="closed"):
                async with store.locked(before.id):
                    pass
            await commits_under_lock(other, CommitHistory(written))
            if isinstance(other.database, PostgresDatabase):
                connections = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
                await other.close()
                operator: Any = await asyncpg.connect(lockable)
                while len(await operator.fetch(connections)) > 1:
                    pass
                await operator.close()

    with not_hanging():
        asyncio.run(run())


_LOCK_FOR_EVER = """
import asyncio, sys
from keystead.storage.open import open_store

async def run(url, organization_id):
    store = await open_store(url)
    async with store.locked(organization_id):
        print("locked", flush=True)
        await asyncio.sleep(600)

asyncio.run(run(*sys.argv[1:]))
"""


def test_a_process_that_is_killed_unlocks(lockable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_database, "LOCK_S", 600)

    async def run() -> None:
        async with opened(lockable, timeout_s=60) as store:
            history = await new_history(store)
            command = [sys.executable, "-c", _LOCK_FOR_EVER, lockable, history.head.id]
            process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd=ROOT)
            assert process.stdout is not None
            assert await process.stdout.readline() == b"locked\n"
            locking = await waits_for_lock(store, history)
            process.kill()
            await locking
            await process.wait()

    with not_hanging():
        asyncio.run(run())


def test_a_process_that_hangs_unlocks(new_postgres: MakeDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends the transaction of a lock in which nothing happens."""
    database = new_postgres()

    async def run() -> None:
        async with opened(database, timeout_s=60) as other:
            history = await new_history(other)
            monkeypatch.setattr(postgres_connections, "_LIMITS", {"idle_in_transaction_session_timeout": "100"})
            async with opened(database) as store:
                with pytest.raises(Unavailable):
                    async with store.locked(history.head.id) as locked:
                        late = CommitHistory(history.head).step()
                        await commits_under_lock(other, history)
                        await locked.write([late])
                await commits_under_lock(store, history)

    asyncio.run(run())


def test_a_broken_connection_unlocks(new_postgres: MakeDatabase) -> None:
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            beside = CommitHistory(history.head)
            late = [beside.step(), beside.signing()]
            operator: Any = await asyncpg.connect(database)
            ended = (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE state = 'idle in transaction' AND datname = current_database()"
            )
            with pytest.raises(Unavailable):
                async with store.locked(history.head.id) as locked:
                    locking = await waits_for_lock(other, history)
                    assert len(await operator.fetch(ended)) == 1
                    await locking
                    await locked.write(late)
            await operator.close()
            await commits_under_lock(store, history)

    asyncio.run(run())


@pytest.mark.parametrize("words", [b"COMMIT\0", b"INSERT"])
def test_the_connection_is_lost_while_it_writes(new_postgres: MakeDatabase, words: bytes) -> None:
    """All callers get the same error. If the answer of COMMIT was lost, the commits may be there."""
    database = new_postgres()

    async def run() -> None:
        async with tcp_proxy_to(database) as proxy, opened(database) as other:
            history = await new_history(other)
            before, commits = history.head, [history.step(), history.step()]
            async with opened(proxy.url) as store:
                with pytest.raises(Unavailable):
                    async with store.locked(before.id) as locked:
                        proxy.cut_before_answer_of(words)
                        await locked.write(commits)
                proxy.restore()
                newest = await other.organization(before.id)
                assert newest == (history.head if words == b"COMMIT\0" else before)
                while True:  # until the store has connected again
                    try:
                        await commits_under_lock(store, CommitHistory(newest))
                    except Unavailable:
                        await asyncio.sleep(0.02)
                    else:
                        break

    with not_hanging():
        asyncio.run(run())


def test_a_deadlock_loses_the_race(new_postgres: MakeDatabase) -> None:
    """When the server ends a transaction that waits for another one in a circle, nothing of it is there."""
    database = new_postgres()

    async def run() -> None:
        async with opened(f"{database}?deadlock_timeout=300", timeout_s=60) as store:
            history = await new_history(store)
            activity, voter = await waiting(store, history), a_user("Grace")
            approval = approved(activity, voter, status=ActivityStatus.COMPLETED)
            commit = of(approval, history.head)
            commit = replace(commit, changes=CommitHistory(history.head).write_of(approval, voter))
            blocker: Any = await asyncpg.connect(database)
            async with store.locked(history.head.id) as locked, blocker.transaction():
                await blocker.execute("UPDATE activity SET revision = revision")
                writing = asyncio.create_task(locked.write([commit]))
                # The server looks for a circle on behalf of a transaction that has waited for so long.
                while not await blocker.fetch("SELECT 1 FROM pg_locks WHERE NOT granted"):
                    pass
                await blocker.execute("UPDATE organization SET version = version")
                assert await writing == [CONFLICT]
            await blocker.close()
            assert await store.activities.get(history.head.id, activity.id) == activity
            assert await store.organization(history.head.id) == history.head
            assert await store.commit(commit) is COMMITTED

    asyncio.run(run())
