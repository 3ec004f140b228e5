"""Every storage test runs on both databases: `database` makes empty ones, `opened` opens stores on them."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from keystead.pipeline.store import CommitResult
from keystead.storage.open import open_store
from keystead.storage.postgres.distribution import CITUS, DISTRIBUTION
from keystead.storage.schema import migrate
from keystead.storage.store import DatabaseStore
from tests.support.commit_history import CommitHistory
from tests.support.postgres import PostgresServer, running_postgres

ENGINES = ("sqlite", "postgres")
MakeDatabase = Callable[[], str]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server of their own: storage tests stop and kill it."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "keystead.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    url = postgres.create_database()
    migrate(url)
    return url.rpartition("/")[2]


@pytest.fixture
def new_sqlite(sqlite_template: Path, tmp_path: Path) -> MakeDatabase:
    def make() -> str:
        path = tmp_path / f"{secrets.token_hex(4)}.db"
        shutil.copy(sqlite_template, path)
        return f"sqlite:///{path}"

    return make


@pytest.fixture
def new_postgres(postgres: PostgresServer, postgres_template: str) -> MakeDatabase:
    def make() -> str:
        name = f"test_{secrets.token_hex(8)}"

        async def create() -> None:
            connection: Any = await asyncpg.connect(postgres.url())
            await connection.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template} STRATEGY FILE_COPY")
            await connection.close()

        asyncio.run(create())
        return postgres.url(name)

    return make


@pytest.fixture(params=ENGINES)
def new_database(request: pytest.FixtureRequest) -> MakeDatabase:
    """Makes migrated, empty databases of one engine."""
    make: MakeDatabase = request.getfixturevalue(f"new_{request.param}")
    return make


@pytest.fixture
def database(new_database: MakeDatabase) -> str:
    return new_database()


@pytest.fixture(params=["sqlite", "postgres", "distributed"])
def lockable(request: pytest.FixtureRequest) -> str:
    """An empty database. The third one says that its tables are distributed. The statements for these work on a
    single server, too."""
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


@asynccontextmanager
async def opened(url: str, **settings: Any) -> AsyncIterator[DatabaseStore]:
    store = await open_store(url, **settings)
    try:
        yield store
    finally:
        await store.close()


A_WHILE_S = 0.1
"""Long enough for whatever does not wait."""


async def commits_under_lock(store: DatabaseStore, history: CommitHistory, count: int = 1) -> None:
    """Commit this many changes under one lock, on the newest version, which is the head of the history."""
    async with store.locked(history.head.id) as locked:
        assert locked.organization == history.head
        assert await locked.write([history.step() for _ in range(count)]) == [CommitResult.COMMITTED] * count


async def waits_for_lock(store: DatabaseStore, history: CommitHistory) -> asyncio.Task[None]:
    """A task that waits for the lock now, and will commit under it."""
    task = asyncio.create_task(commits_under_lock(store, history))
    await asyncio.wait([task], timeout=A_WHILE_S)
    assert not task.done()
    return task
