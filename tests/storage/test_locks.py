"""The lock of an organization: no other process changes it while it lasts, and no process waits for ever.

On SQLite, where one process serves, the lock is of the whole file. Not here: how long the pipeline keeps it
(`test_organization_writers`).
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from keystead.api.enums import ActivityStatus
from keystead.api.errors import AlreadyExists, ServiceError, Unavailable
from keystead.pipeline.store import CommitResult, Page
from keystead.storage.postgres import connections as postgres_connections
from keystead.storage.postgres.database import PostgresDatabase
from keystead.storage.postgres.distribution import CITUS, DISTRIBUTION
from keystead.storage.sqlite import database as sqlite_database
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import MakeDatabase, opened
from tests.support.commit_history import CommitHistory, approved, new_history, of, waiting
from tests.support.commit_samples import a_user, a_wallet, an_account, an_organization
from tests.support.hanging import not_hanging
from tests.support.tcp_proxy import tcp_proxy_to

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult
ROOT = Path(__file__).parents[2]
A_WHILE_S = 0.1
"""Long enough for whatever does not wait."""


@pytest.fixture(params=["sqlite", "postgres", "distributed"])
def database(request: pytest.FixtureRequest) -> str:
    """The third one says that its tables are distributed. The statements for these work on a single server, too."""
    if request.param != "distributed":
        make: MakeDatabase = request.getfixturevalue(f"new_{request.param}")
        return make()
    make = request.getfixturevalue("new_postgres")
    url = make()

    async def declare() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute("INSERT INTO instance VALUES ($1, $2)", DISTRIBUTION, CITUS)
        await connection.close()

    asyncio.run(declare())
    return url


async def commits_under_lock(store: DatabaseStore, history: CommitHistory, count: int = 1) -> None:
    """Commit this many changes under one lock, on the newest version, which is the head of the history."""
    async with store.locked(history.head.id) as locked:
        assert locked.organization == history.head
        assert await locked.write([history.step() for _ in range(count)]) == [COMMITTED] * count


async def waits_for_lock(store: DatabaseStore, history: CommitHistory) -> asyncio.Task[None]:
    """A task that waits for the lock now, and will commit under it."""
    task = asyncio.create_task(commits_under_lock(store, history))
    await asyncio.wait([task], timeout=A_WHILE_S)
    assert not task.done()
    return task


def test_commits_under_a_lock_are_written_together(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
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


def test_a_lock_without_a_commit_changes_nothing(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
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


def test_what_contradicts_the_tables_is_refused_alone(database: str) -> None:
    """What cannot be written under the lock is written without it."""

    async def run() -> None:
        async with opened(database) as store:
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


def test_equal_requests_under_a_lock_are_carried_out_once(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            first = history.signing(fingerprint="the same")
            async with store.locked(history.head.id) as locked:
                again = history.signing(fingerprint="the same")
                assert await locked.write([first, again, history.step()]) == [COMMITTED, DUPLICATE, COMMITTED]
            async with store.locked(history.head.id) as locked:
                assert await locked.write([history.signing(fingerprint="the same")]) == [DUPLICATE]
            assert await store.organization(history.head.id) == history.head

    asyncio.run(run())


def test_a_commit_after_the_write_is_like_any_other(database: str) -> None:
    """The write unlocks, so others may commit then."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            async with store.locked(history.head.id) as locked:
                assert await locked.write([history.step()]) == [COMMITTED]
                stale = CommitHistory(history.head).step()
                if not database.startswith("sqlite"):  # there, the block locks
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


def test_a_task_that_gives_up_waiting_locks_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_database, "LOCK_S", 600)

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
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
def test_a_task_that_is_cancelled_unlocks(database: str, moment: str) -> None:
    """While it writes, the commit is there or not, and the organization is free in both cases."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
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


def test_a_block_that_fails_unlocks(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            for error in (AlreadyExists("of the block"), ValueError("of the block")):
                with pytest.raises(type(error), match="of the block"):
                    async with store.locked(history.head.id):
                        raise error
                for place in (other, store):
                    await commits_under_lock(place, history)

    asyncio.run(run())


def test_closing_while_an_organization_is_locked(database: str) -> None:
    """Either the commits under the lock are written, or they are refused. No connection is left."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
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
                operator: Any = await asyncpg.connect(database)
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


def test_a_process_that_is_killed_unlocks(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_database, "LOCK_S", 600)

    async def run() -> None:
        async with opened(database, timeout_s=60) as store:
            history = await new_history(store)
            command = [sys.executable, "-c", _LOCK_FOR_EVER, database, history.head.id]
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
