"""Holding an organization: nobody else changes it meanwhile, in any process, and nobody waits for ever."""

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
from keystead.api.errors import InvalidRequest, Unavailable
from keystead.pipeline.store import CommitOutcome, Page
from keystead.storage import promises
from keystead.storage.base import DatabaseStore
from tests.storage.conftest import MakeDatabase, opened
from tests.support.commit_history import CommitHistory, approved, new_history, of, waiting
from tests.support.commit_samples import a_user, an_organization
from tests.support.hanging import not_hanging

COMMITTED, CONFLICT, DUPLICATE = CommitOutcome
ROOT = Path(__file__).parents[2]
A_WHILE_S = 0.1
"""Long enough for whatever does not wait."""


async def waits(committing: asyncio.Future[CommitOutcome]) -> bool:
    done, _ = await asyncio.wait([committing], timeout=A_WHILE_S)
    return not done


def test_others_wait_and_find_it_changed(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            theirs = CommitHistory(history.head)
            async with store.hold(history.head.id) as held:
                rival = other.commit(theirs.step())
                assert await waits(rival)
                assert await store.organization(history.head.id) == history.head, "reads go on"
                assert await held.commit(history.step()) is COMMITTED
                assert await rival is CONFLICT
            assert await store.organization(history.head.id) is history.head, (
                "kept in memory, like after any commit"
            )
            assert await other.organization(history.head.id) == history.head
            assert len(await other.interface_texts(history.head.id)) == 1
            assert await other.commit(history.step()) is COMMITTED

    asyncio.run(run())


def test_leaving_without_a_commit_changes_nothing(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            async with store.hold(history.head.id):
                rival = other.commit(history.step())
                assert await waits(rival)
            assert await rival is COMMITTED
            with pytest.raises(InvalidRequest):
                async with store.hold(history.head.id):
                    rival = other.commit(history.step())
                    assert await waits(rival)
                    raise InvalidRequest("what was asked for")
            assert await rival is COMMITTED
            for place in (store, other):
                assert await place.organization(history.head.id) == history.head

    asyncio.run(run())


def test_what_is_not_a_change_is_committed_too(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            signing = history.signing()
            async with store.hold(history.head.id) as held:
                assert await held.commit(signing) is COMMITTED
            async with store.hold(history.head.id) as held:
                assert await held.commit(history.signing(fingerprint=signing.activity.fingerprint)) is DUPLICATE  # type: ignore[union-attr]
            assert await store.organization(history.head.id) == history.head
            assert await store.activities(history.head.id, (), (), Page(limit=9)) == [signing.activity]

    asyncio.run(run())


def test_other_organizations_go_on(new_postgres: MakeDatabase) -> None:
    """In both processes; and so does what changes no record of the one that is held."""
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            children = [CommitHistory(an_organization(parent_id=history.head.id)) for _ in range(8)]
            founding = [store.commit(history.suborganization(child.head)) for child in children]
            assert await asyncio.gather(*founding) == [COMMITTED] * 8
            async with store.hold(history.head.id):
                for place in (store, other):
                    commits = [*[child.step() for child in children], history.signing()]
                    assert await asyncio.gather(*map(place.commit, commits)) == [COMMITTED] * 9
                async with other.hold(children[0].head.id) as held:
                    assert await held.commit(children[0].step()) is COMMITTED

    asyncio.run(run())


def test_a_file_has_one_lock(new_sqlite: MakeDatabase) -> None:
    """What was handed in before a hold is done before it, the rest after it."""
    database = new_sqlite()

    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            children = [CommitHistory(an_organization(parent_id=history.head.id)) for _ in range(2)]
            founding = [store.commit(history.suborganization(child.head)) for child in children]
            assert await asyncio.gather(*founding) == [COMMITTED] * 2
            before = store.commit(children[0].step())
            async with store.hold(history.head.id) as held:
                assert before.done()
                after = [store.commit(child.step()) for child in children]
                assert await waits(after[0])
                assert await held.commit(history.step()) is COMMITTED
                assert await asyncio.gather(*after) == [COMMITTED] * 2

    asyncio.run(run())


def test_a_lock_that_is_free_for_moments(new_sqlite: MakeDatabase) -> None:
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
                    async with store.hold(history.head.id) as held:
                        assert await held.commit(history.step()) is COMMITTED
            finally:
                over.set()
                blocking.join()

    asyncio.run(run())


def test_holders_never_lose(database: str) -> None:
    """Many of them at two stores, against others who commit without holding."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            organization_id, over = history.head.id, asyncio.Event()

            async def hold(place: DatabaseStore) -> None:
                for _ in range(5):
                    async with place.hold(organization_id) as held:
                        newest = await place.organization(organization_id)
                        assert newest is not None
                        assert await held.commit(CommitHistory(newest).step()) is COMMITTED

            async def race(place: DatabaseStore) -> int:
                won = 0
                while not over.is_set():
                    newest = await place.organization(organization_id)
                    assert newest is not None
                    won += await place.commit(CommitHistory(newest).step()) is COMMITTED
                return won

            racing = [asyncio.create_task(race(place)) for place in (store, other)]
            await asyncio.gather(*[hold(place) for place in (store, other) for _ in range(3)])
            over.set()
            won = sum(await asyncio.gather(*racing))
            for place in (store, other):
                newest = await place.organization(organization_id)
                assert newest is not None
                assert newest.version.number == 1 + 2 * 3 * 5 + won

    asyncio.run(run())


@pytest.mark.parametrize("somebody_came", [True, False])
def test_who_takes_too_long_must_race(database: str, somebody_came: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "HOLD_S", 0.05)

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            async with store.hold(history.head.id) as held:
                late = CommitHistory(history.head).step()
                if somebody_came:
                    assert await other.commit(history.step()) is COMMITTED
                else:
                    await asyncio.sleep(A_WHILE_S)
                    async with other.hold(history.head.id):
                        pass
                assert await held.commit(late) is (CONFLICT if somebody_came else COMMITTED)
            assert await store.commit(history.signing()) is COMMITTED

    asyncio.run(run())


def test_waiting_for_a_hold_has_an_end(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database, timeout_s=0.2) as other:
            history = await new_history(store)
            async with store.hold(history.head.id) as held:
                with pytest.raises(Unavailable, match="the database"):
                    async with other.hold(history.head.id):
                        pass
                assert await held.commit(history.step()) is COMMITTED
            async with other.hold(history.head.id) as held:
                assert await held.commit(history.step()) is COMMITTED
            assert await store.organization(history.head.id) == history.head

    asyncio.run(run())


def test_who_gives_up_waiting_holds_nothing(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)

            async def enter() -> None:
                async with other.hold(history.head.id):
                    raise AssertionError("it is held")

            async with store.hold(history.head.id):
                waiting_for_it = asyncio.create_task(enter())
                await asyncio.wait([waiting_for_it], timeout=A_WHILE_S)
                waiting_for_it.cancel()
                await asyncio.wait([waiting_for_it])
                assert waiting_for_it.cancelled()
            for place in (store, other):
                assert await place.commit(history.step()) is COMMITTED

    asyncio.run(run())


def test_closing_waits_for_holds(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            async with store.hold(history.head.id) as held:
                closing = asyncio.create_task(store.close())
                await asyncio.wait([closing], timeout=A_WHILE_S)
                assert not closing.done()
                assert await held.commit(history.step()) is COMMITTED
            await closing
            with pytest.raises(Unavailable, match="closed"):
                async with store.hold(history.head.id):
                    pass
            assert await other.organization(history.head.id) == history.head

    asyncio.run(run())


_HOLD_FOR_EVER = """
import asyncio, sys
from keystead.storage import promises
from keystead.storage.open import open_store

async def run(url, organization_id):
    store = await open_store(url)
    promises.HOLD_S = 600
    async with store.hold(organization_id):
        print("held", flush=True)
        await asyncio.sleep(600)

asyncio.run(run(*sys.argv[1:]))
"""


def test_who_is_killed_lets_go(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            command = [sys.executable, "-c", _HOLD_FOR_EVER, database, history.head.id]
            process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd=ROOT)
            assert process.stdout is not None
            assert await process.stdout.readline() == b"held\n"
            rival = store.commit(history.step())
            assert await waits(rival)
            process.kill()
            assert await rival is COMMITTED
            await process.wait()
            async with store.hold(history.head.id) as held:
                assert await held.commit(history.step()) is COMMITTED

    with not_hanging():
        asyncio.run(run())


def test_a_broken_line_lets_go(new_postgres: MakeDatabase) -> None:
    database = new_postgres()

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            async with store.hold(history.head.id) as held:
                rival = other.commit(history.step())
                assert await waits(rival)
                operator: Any = await asyncpg.connect(database)
                ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"
                assert len(await operator.fetch(ended)) == 1
                await operator.close()
                assert await rival is COMMITTED
                with pytest.raises(Unavailable):
                    await held.commit(CommitHistory(history.head).step())
            assert await store.organization(history.head.id) == history.head
            async with store.hold(history.head.id) as held:
                assert await held.commit(history.step()) is COMMITTED

    asyncio.run(run())


def test_two_who_wait_for_each_other(new_postgres: MakeDatabase) -> None:
    """Whose transaction the server ends has lost a race, and nothing of it is there."""
    database = new_postgres()

    async def run() -> None:
        async with opened(f"{database}?deadlock_timeout=300") as store:
            history = await new_history(store)
            activity, voter = await waiting(store, history), a_user("Grace")
            approval = approved(activity, voter, status=ActivityStatus.COMPLETED)
            blocker: Any = await asyncpg.connect(database)
            async with store.hold(history.head.id) as held, blocker.transaction():
                await blocker.execute("UPDATE activity SET revision = revision")
                change = CommitHistory(history.head).change(approval, voter)
                committing = held.commit(replace(of(approval), change=change))
                # The server looks for a cycle on behalf of whoever has waited for so long.
                while not await blocker.fetch("SELECT 1 FROM pg_locks WHERE NOT granted"):
                    pass
                await blocker.execute("UPDATE organization SET version = version")
                assert await committing is CONFLICT
            await blocker.close()
            assert await store.activity(history.head.id, activity.id) == activity
            assert await store.organization(history.head.id) == history.head
            async with store.hold(history.head.id) as held:
                assert await held.commit(replace(of(approval), change=change)) is COMMITTED
            assert await store.organization(history.head.id) == change.after

    asyncio.run(run())
