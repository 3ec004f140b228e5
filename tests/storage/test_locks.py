"""The lock of an organization: no other process changes it while it lasts, and no process waits for ever.

On SQLite, where one process serves, the lock is of the whole file.
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
from keystead.api.errors import AlreadyExists, Unavailable
from keystead.pipeline.store import CommitResult, OrganizationLock, Page
from keystead.storage import pending
from keystead.storage.base import DatabaseStore
from keystead.storage.distribution import CITUS, DISTRIBUTION
from tests.storage.conftest import MakeDatabase, opened
from tests.support.commit_history import CommitHistory, approved, new_history, of, waiting
from tests.support.commit_samples import a_user, a_wallet, an_account, an_organization
from tests.support.hanging import not_hanging

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


async def waits(locking: asyncio.Task[OrganizationLock]) -> bool:
    done, _ = await asyncio.wait([locking], timeout=A_WHILE_S)
    return not done


def test_commits_under_a_lock_are_written_when_it_is_released(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            lock = await store.lock(history.head.id)
            assert lock.organization == history.head
            commits = [history.step(), history.signing(), history.step()]
            committing = [lock.commit(one) for one in commits]
            await asyncio.sleep(A_WHILE_S)
            assert not any(one.done() for one in committing)
            newest = await other.organization(history.head.id)
            assert newest is not None
            assert newest.version.number == 1, "reads go on"
            lock.release()
            assert lock.is_released
            assert await asyncio.gather(*committing) == [COMMITTED] * 3
            assert await store.organization(history.head.id) is history.head, "kept in memory, as after any commit"
            assert await other.organization(history.head.id) == history.head
            assert len(await other.activities(history.head.id, (), (), Page(limit=9)) or []) == 3

    asyncio.run(run())


def test_a_lock_without_a_commit_changes_nothing(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            for _ in range(2):
                (await store.lock(history.head.id)).release()
            assert await other.commit(history.step()) is COMMITTED
            lock = await store.lock(history.head.id)
            assert lock.organization == history.head
            lock.release()

    asyncio.run(run())


def test_what_contradicts_the_tables_is_refused_alone(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            wallet = a_wallet()
            account, twin = [an_account(history.head.id, wallet.wallet_id) for _ in range(2)]
            lock = await store.lock(history.head.id)
            good = lock.commit(history.step(wallet, attachments=(account,)))
            before = history.head
            bad = lock.commit(history.step(wallet, attachments=(twin,)))
            after_bad = lock.commit(history.step())
            lock.release()
            assert await good is COMMITTED
            with pytest.raises(AlreadyExists):
                await bad
            assert await after_bad is CONFLICT
            assert await store.organization(history.head.id) == before

    asyncio.run(run())


def test_a_commit_after_the_release_is_like_any_other(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            lock = await store.lock(history.head.id)
            first = lock.commit(history.step())
            lock.release()
            assert await first is COMMITTED
            stale = CommitHistory(history.head).step()
            assert await lock.commit(history.step()) is COMMITTED
            assert await lock.commit(stale) is CONFLICT

    asyncio.run(run())


def test_others_do_not_wait_but_lose_and_then_lock(new_postgres: MakeDatabase) -> None:
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            lock = await store.lock(history.head.id)
            for commit in (CommitHistory(history.head).step(), CommitHistory(history.head).signing()):
                assert await other.commit(commit) is CONFLICT
                assert await store.commit(commit) is CONFLICT
            locking = asyncio.create_task(other.lock(history.head.id))
            assert await waits(locking)
            committing = lock.commit(history.step())
            lock.release()
            theirs = await locking
            assert theirs.organization == history.head
            assert await committing is COMMITTED
            second = theirs.commit(history.step())
            theirs.release()
            assert await second is COMMITTED
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
            lock = await store.lock(history.head.id)
            for place in (store, other):
                commits = [each for child in children for each in (child.signing(), child.step())]
                assert await asyncio.gather(*map(place.commit, commits)) == [COMMITTED] * 16
            theirs = await other.lock(children[0].head.id)
            committing = theirs.commit(children[0].step())
            theirs.release()
            assert await committing is COMMITTED
            lock.release()

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
        async with opened(database, timeout_s=1) as store:
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

            async def locked(place: DatabaseStore) -> None:
                for _ in range(5):
                    lock = await place.lock(organization_id)
                    assert lock.organization is not None
                    theirs = CommitHistory(lock.organization)
                    committing = [lock.commit(theirs.step()) for _ in range(3)]
                    lock.release()
                    assert await asyncio.gather(*committing) == [COMMITTED] * 3

            async def race(place: DatabaseStore) -> int:
                won = 0
                while not over.is_set():
                    newest = await place.organization(organization_id)
                    assert newest is not None
                    won += await place.commit(CommitHistory(newest).step()) is COMMITTED
                return won

            racing = [asyncio.create_task(race(place)) for place in (store, other)]
            await asyncio.gather(*[locked(place) for place in (store, other) for _ in range(3)])
            over.set()
            won = sum(await asyncio.gather(*racing))
            for place in (store, other):
                newest = await place.organization(organization_id)
                assert newest is not None
                assert newest.version.number == 1 + 2 * 3 * 5 * 3 + won

    asyncio.run(run())


@pytest.mark.parametrize("is_changed", [True, False])
def test_a_lock_ends_after_its_time(
    new_postgres: MakeDatabase, is_changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was committed under it before is written; what comes later is a commit like any other."""
    monkeypatch.setattr(pending, "LOCK_S", 0.05)
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            lock = await store.lock(history.head.id)
            assert await lock.commit(history.step()) is COMMITTED
            assert lock.is_released
            late = CommitHistory(history.head).step()
            if is_changed:
                assert await other.commit(history.step()) is COMMITTED
            assert await lock.commit(late) is (CONFLICT if is_changed else COMMITTED)

    asyncio.run(run())


def test_waiting_for_a_lock_has_an_end(new_postgres: MakeDatabase) -> None:
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database, timeout_s=0.2) as other:
            history = await new_history(store)
            lock = await store.lock(history.head.id)
            with pytest.raises(Unavailable, match="the database"):
                await other.lock(history.head.id)
            lock.release()
            theirs = await other.lock(history.head.id)
            committing = theirs.commit(history.step())
            theirs.release()
            assert await committing is COMMITTED

    asyncio.run(run())


def test_a_task_that_gives_up_waiting_locks_nothing(new_postgres: MakeDatabase) -> None:
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            lock = await store.lock(history.head.id)
            locking = asyncio.create_task(other.lock(history.head.id))
            assert await waits(locking)
            locking.cancel()
            await asyncio.wait([locking])
            assert locking.cancelled()
            lock.release()
            for place in (store, other):
                again = await place.lock(history.head.id)
                committing = again.commit(history.step())
                again.release()
                assert await committing is COMMITTED

    asyncio.run(run())


def test_closing_waits_for_locks(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            lock = await store.lock(history.head.id)
            closing = asyncio.create_task(store.close())
            await asyncio.wait([closing], timeout=A_WHILE_S)
            assert not closing.done()
            committing = lock.commit(history.step())
            lock.release()
            assert await committing is COMMITTED
            await closing
            with pytest.raises(Unavailable, match="closed"):
                await store.lock(history.head.id)
            assert await other.organization(history.head.id) == history.head

    asyncio.run(run())


_LOCK_FOR_EVER = """
import asyncio, sys
from keystead.storage import pending
from keystead.storage.open import open_store

async def run(url, organization_id):
    store = await open_store(url)
    pending.LOCK_S = 600
    await store.lock(organization_id)
    print("locked", flush=True)
    await asyncio.sleep(600)

asyncio.run(run(*sys.argv[1:]))
"""


def test_a_process_that_is_killed_unlocks(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            command = [sys.executable, "-c", _LOCK_FOR_EVER, database, history.head.id]
            process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd=ROOT)
            assert process.stdout is not None
            assert await process.stdout.readline() == b"locked\n"
            locking = asyncio.create_task(store.lock(history.head.id))
            assert await waits(locking)
            process.kill()
            lock = await locking
            committing = lock.commit(history.step())
            lock.release()
            assert await committing is COMMITTED
            await process.wait()

    with not_hanging():
        asyncio.run(run())


def test_a_broken_connection_unlocks(new_postgres: MakeDatabase) -> None:
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            lock = await store.lock(history.head.id)
            locking = asyncio.create_task(other.lock(history.head.id))
            assert await waits(locking)
            lost = lock.commit(CommitHistory(history.head).step())
            operator: Any = await asyncpg.connect(database)
            ended = (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE state = 'idle in transaction' AND datname = current_database()"
            )
            assert len(await operator.fetch(ended)) == 1
            await operator.close()
            theirs = await locking
            lock.release()
            with pytest.raises(Unavailable):
                await lost
            committing = theirs.commit(history.step())
            theirs.release()
            assert await committing is COMMITTED
            assert await store.organization(history.head.id) == history.head

    asyncio.run(run())


def test_a_deadlock_loses_the_race(new_postgres: MakeDatabase) -> None:
    """When the server ends a transaction that waits for another one in a circle, nothing of it is there."""
    database = new_postgres()

    async def run() -> None:
        async with opened(f"{database}?deadlock_timeout=300") as store:
            history = await new_history(store)
            activity, voter = await waiting(store, history), a_user("Grace")
            approval = approved(activity, voter, status=ActivityStatus.COMPLETED)
            blocker: Any = await asyncpg.connect(database)
            lock = await store.lock(history.head.id)
            async with blocker.transaction():
                await blocker.execute("UPDATE activity SET revision = revision")
                commit = of(approval, history.head)
                commit = replace(commit, write=CommitHistory(history.head).write_of(approval, voter))
                committing = lock.commit(commit)
                lock.release()
                # The server looks for a circle on behalf of a transaction that has waited for so long.
                while not await blocker.fetch("SELECT 1 FROM pg_locks WHERE NOT granted"):
                    pass
                await blocker.execute("UPDATE organization SET version = version")
                assert await committing is CONFLICT
            await blocker.close()
            assert await store.activity(history.head.id, activity.id) == activity
            assert await store.organization(history.head.id) == history.head
            assert await store.commit(commit) is COMMITTED

    asyncio.run(run())
