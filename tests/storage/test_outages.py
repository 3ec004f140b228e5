"""While the database does not answer, every call raises Unavailable; afterwards the same store works again."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from keystead.api.errors import Unavailable
from keystead.organizations.kinds.tags import Tags
from keystead.pipeline.store import CommitResult, Page
from keystead.storage.open import open_store
from keystead.storage.sqlite.connection import DatabaseFile
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import MakeDatabase, opened
from tests.support.commit_history import CommitHistory, new_history
from tests.support.commit_samples import a_tag, an_organization
from tests.support.postgres import PostgresServer

COMMITTED = CommitResult.COMMITTED


async def assert_away(store: DatabaseStore, history: CommitHistory) -> None:
    """Reads and writes are refused, and the refusals name no address, user or password."""
    for refused in (
        store.organization(history.head.id),
        store.activities.get(history.head.id, "id"),
        store.ready(),
        store.commit(CommitHistory(history.head).step()),
    ):
        with pytest.raises(Unavailable, match="the database") as refusal:
            await refused
        assert "127.0.0.1" not in refusal.value.message


async def locked_once(store: DatabaseStore, organization_id: str) -> None:
    async with store.locked(organization_id):
        pass


async def is_back(store: DatabaseStore) -> None:
    """Return once the store has connected again: it pauses between two attempts."""
    while True:
        try:
            return await store.ready()
        except Unavailable:
            await asyncio.sleep(0.02)


async def assert_works(store: DatabaseStore, history: CommitHistory) -> None:
    await store.ready()
    newest = await store.organization(history.head.id)
    assert newest == history.head
    assert await store.commit(history.step()) is COMMITTED
    assert await store.organization(history.head.id) == history.head


def test_postgres_stops_and_returns(new_postgres: MakeDatabase, postgres: PostgresServer) -> None:
    url = new_postgres()

    async def run() -> None:
        async with opened(url) as store:
            history = await new_history(store)
            await assert_works(store, history)
            postgres.stop()
            try:
                await assert_away(store, history)
            finally:
                postgres.start()
            await is_back(store)
            await assert_works(store, history)

    asyncio.run(run())


def test_postgres_is_replaced_while_no_request_comes(new_postgres: MakeDatabase, postgres: PostgresServer) -> None:
    """The next connection may reach a database with another history, so nothing in memory is used."""
    url = new_postgres()

    async def replace() -> None:
        postgres.stop()
        postgres.start()
        connection: Any = await asyncpg.connect(url)
        await connection.execute("DELETE FROM record WHERE kind = 'tag'")
        await connection.execute("UPDATE organization SET version = version + 2, changed_by = 'another'")
        await connection.close()

    async def run() -> None:
        async with opened(url) as store:
            history = await new_history(store)
            tag = a_tag()
            assert await store.commit(history.step(tag)) is COMMITTED
            known = await store.organization(history.head.id)
            assert known is not None and tag.tag_id in known.of(Tags)
            await replace()
            newest = await store.organization(history.head.id)
            assert newest is not None and tag.tag_id not in newest.of(Tags)

    asyncio.run(run())


def test_postgres_crashes_while_commits_are_under_way(new_postgres: MakeDatabase, postgres: PostgresServer) -> None:
    url = new_postgres()

    reported: list[str] = []
    enough = asyncio.Event()

    async def submit(store: DatabaseStore, organization_id: str) -> None:
        while True:
            organization = await store.organization(organization_id)
            assert organization is not None
            commit = CommitHistory(organization).step()
            if await store.commit(commit) is COMMITTED:
                assert commit.activity is not None
                reported.append(commit.activity.id)
            if len(reported) >= 20:
                enough.set()

    async def run() -> None:
        async with opened(url) as store:
            history = await new_history(store)
            submitters = [asyncio.create_task(submit(store, history.head.id)) for _ in range(6)]
            await enough.wait()
            await asyncio.to_thread(postgres.kill)
            try:
                for ended in await asyncio.gather(*submitters, return_exceptions=True):
                    assert isinstance(ended, Unavailable)
            finally:
                postgres.start()
            newest = await store.organization(history.head.id)
            kept = await store.activities.page(history.head.id, (), (), Page(limit=1000))
            assert newest is not None
            assert kept is not None
            assert set(reported) <= {activity.id for activity in kept}
            assert newest.version.number == 1 + len(kept) == len(newest.contract_interfaces)
            assert len(await store.attached.interface_texts(history.head.id)) == len(kept)
            assert await store.commit(CommitHistory(newest).step()) is COMMITTED

    asyncio.run(run())


def test_postgres_hangs(new_postgres: MakeDatabase) -> None:
    """A row that stays locked: a commit loses at once, a lock is given up after its time, reads go on."""
    url = new_postgres()

    async def run() -> None:
        async with opened(url) as store, opened(url, timeout_s=0.2) as hasty:
            history = await new_history(store)
            blocker: Any = await asyncpg.connect(url)
            async with blocker.transaction():
                await blocker.execute("SELECT 1 FROM organization FOR UPDATE")
                assert await store.commit(CommitHistory(history.head).step()) is CommitResult.CONFLICT
                with pytest.raises(Unavailable):
                    await locked_once(hasty, history.head.id)
                assert await store.organization(history.head.id) == history.head
            await assert_works(store, history)
            await blocker.close()

    asyncio.run(run())


def test_postgres_refuses_the_settings_of_a_connection(new_postgres: MakeDatabase) -> None:
    """Each time: what was refused is not kept as a connection."""
    url = f"{new_postgres()}?work_mem=much"

    async def run() -> None:
        async with opened(url) as store:
            organization = an_organization()
            for _ in range(3):
                with pytest.raises(Unavailable, match="the database does not accept a connection"):
                    await store.organization(organization.id)
                with pytest.raises(Unavailable, match="the database does not accept a connection"):
                    await store.commit(CommitHistory(organization).step())
                with pytest.raises(Unavailable, match="the database does not accept a connection"):
                    await locked_once(store, organization.id)

    asyncio.run(run())


def test_sqlite_is_locked_by_another_process(new_sqlite: MakeDatabase) -> None:
    url = new_sqlite()

    async def run() -> None:
        async with opened(url, timeout_s=0.05) as store:
            history = await new_history(store)
            blocker = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
            blocker.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unavailable, match="locked"):
                await store.commit(CommitHistory(history.head).step())
            assert await store.organization(history.head.id) == history.head
            blocker.execute("ROLLBACK")
            blocker.close()
            await assert_works(store, history)

    asyncio.run(run())


def test_sqlite_disk_is_full(new_sqlite: MakeDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    url = new_sqlite()
    pages_max = 2**30
    connect = DatabaseFile.connect

    def connect_with_limit(file: DatabaseFile, **settings: Any) -> sqlite3.Connection:
        connection = connect(file, **settings)
        connection.execute(f"PRAGMA max_page_count={pages_max}").fetchall()
        return connection

    monkeypatch.setattr(DatabaseFile, "connect", connect_with_limit)

    async def run() -> None:
        nonlocal pages_max
        pages_max = 100
        async with opened(url) as store:
            history = await new_history(store)
            full = CommitHistory(history.head)
            found = await asyncio.gather(
                *[store.commit(full.step(padding=100_000)) for _ in range(8)], return_exceptions=True
            )
            kept = [result for result in found if result is COMMITTED]
            refused = found[len(kept) :]
            # What was handed in too late to share the transaction that failed stood on what it would have made.
            full_disk = [result for result in refused if isinstance(result, Unavailable)]
            assert full_disk == refused[: len(full_disk)]
            assert full_disk and all("full" in str(result) for result in full_disk)
            assert set(refused[len(full_disk) :]) <= {CommitResult.CONFLICT}
            newest = await store.organization(history.head.id)
            assert newest is not None
            assert newest.version.number == 1 + len(kept)
            pages_max = 2**30
            history.head = newest
            await assert_works(store, history)

    asyncio.run(run())


def test_sqlite_file_is_taken_away_and_put_back(new_sqlite: MakeDatabase) -> None:
    url = new_sqlite()
    path = Path(url.removeprefix("sqlite:///"))
    files = [path, Path(f"{path}-wal"), Path(f"{path}-shm")]

    def take_away() -> None:
        for file in files:
            file.rename(f"{file}.away")

    def put_back() -> None:
        for file in files:
            Path(f"{file}.away").rename(file)

    async def run() -> None:
        async with opened(url) as store:
            history = await new_history(store)
            take_away()
            with pytest.raises(Unavailable, match="unable to open"):
                await store.commit(CommitHistory(history.head).step())
            await assert_away(store, history)
            put_back()
            await assert_works(store, history)

    asyncio.run(run())


_COMMIT_FOR_EVER = """
import asyncio, sys
from keystead.storage.open import open_store
from tests.support.commit_history import CommitHistory

async def run(url, organization_id):
    store = await open_store(url)
    history = CommitHistory(await store.organization(organization_id))
    async def submit():
        while True:
            commit = history.step()
            await store.commit(commit)
            print(commit.activity.id, flush=True)
    await asyncio.gather(*[submit() for _ in range(4)])

asyncio.run(run(*sys.argv[1:]))
"""


def test_a_killed_process_leaves_what_it_reported(database: str) -> None:
    async def begin() -> str:
        async with opened(database) as store:
            return (await new_history(store)).head.id

    organization_id = asyncio.run(begin())
    command = [sys.executable, "-c", _COMMIT_FOR_EVER, database, organization_id]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        reported = [process.stdout.readline().strip() for _ in range(30)]
        os.kill(process.pid, signal.SIGKILL)
        reported += [
            line.strip() for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")
        ]

    async def check() -> None:
        async with opened(database) as store:
            newest = await store.organization(organization_id)
            kept = await store.activities.page(organization_id, (), (), Page(limit=100_000))
            assert newest is not None
            assert kept is not None
            assert set(reported) <= {activity.id for activity in kept}
            assert newest.version.number == 1 + len(kept) == len(newest.contract_interfaces)
            assert await store.commit(CommitHistory(newest).step()) is COMMITTED

    asyncio.run(check())


def test_a_store_can_be_opened_before_its_database(tmp_path: Path) -> None:
    async def run() -> None:
        for url in (f"sqlite:///{tmp_path}/missing.db", "postgresql://nobody:secret@127.0.0.1:9/none"):
            store = await open_store(url)
            await assert_away(store, CommitHistory(an_organization()))
            await store.close()

    asyncio.run(run())
    assert list(tmp_path.iterdir()) == []
