"""Migrations lead to the declared tables, once, whoever runs them and by whichever way."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from keystead.api.errors import Unavailable
from keystead.storage import schema
from keystead.storage.declared.tables import metadata
from keystead.storage.migrations import offline
from keystead.storage.migrations.offline import alembic_config, upgrade_sql
from keystead.storage.open import sqlite_path
from keystead.storage.revisions import HEAD, is_current
from keystead.storage.schema import migrate
from keystead.storage.statements import first_tables
from tests.storage.conftest import ENGINES, MakeDatabase, opened
from tests.support.commit_samples import an_organization
from tests.support.postgres import PostgresServer


@pytest.fixture(params=ENGINES)
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/new.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.create_database()


def test_head_is_the_newest_migration() -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_heads() == [HEAD]


def test_migrating_twice_and_at_once(empty_database: str) -> None:
    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(migrate, [empty_database] * 4)) == [False, False, False, True]
    assert migrate(empty_database) is False

    async def run() -> None:
        async with opened(empty_database) as store:
            assert await is_current(store)

    asyncio.run(run())


def test_a_database_without_tables_is_not_current(empty_database: str) -> None:
    path = sqlite_path(empty_database)
    if path is not None:
        path.touch()

    async def run() -> None:
        async with opened(empty_database) as store:
            await store.ready()
            assert not await is_current(store)
            with pytest.raises(Unavailable, match="keystead migrate"):
                await store.organization("any")

    asyncio.run(run())


def test_the_tables_of_another_version_are_not_current(new_sqlite: MakeDatabase) -> None:
    url = new_sqlite()
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()

    async def run() -> None:
        async with opened(url) as store:
            assert not await is_current(store)

    asyncio.run(run())


# Databases without tables get what was generated, older ones what Alembic writes for them.
WAYS: dict[str, Callable[[str], str]] = {
    "generated": first_tables,
    "by Alembic": lambda dialect: upgrade_sql(dialect, None),
}


@pytest.mark.parametrize("way", WAYS)
def test_migrations_lead_to_the_declared_tables_on_sqlite(way: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/migrated.db"
    migrated = sqlite3.connect(tmp_path / "migrated.db")
    migrated.executescript(WAYS[way]("sqlite"))
    engine = create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()
    declared = sqlite3.connect(":memory:")
    for statement in _declared(sqlite.dialect()):
        declared.execute(statement)
    question = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'alembic_version'"
    found = [
        {name: re.sub(r"\s+", " ", sql).strip() for name, sql in connection.execute(question)}
        for connection in (migrated, declared)
    ]
    assert found[0] == found[1]
    migrated.close()
    declared.close()


@pytest.mark.parametrize("way", WAYS)
def test_migrations_lead_to_the_declared_tables_on_postgres(way: str, postgres: PostgresServer) -> None:
    async def tables(url: str, *statements: str) -> list[list[Any]]:
        connection: Any = await asyncpg.connect(url)
        for statement in statements:
            await connection.execute(statement)
        found = [
            [tuple(row) for row in await connection.fetch(question)]
            for question in (
                """SELECT table_name, column_name, data_type, is_nullable, collation_name, column_default
                   FROM information_schema.columns
                   WHERE table_schema = 'public' AND table_name <> 'alembic_version'
                   ORDER BY 1, ordinal_position""",
                """SELECT indexdef FROM pg_indexes
                   WHERE schemaname = 'public' AND tablename <> 'alembic_version' ORDER BY 1""",
            )
        ]
        await connection.close()
        return found

    async def run() -> None:
        migrated = await tables(postgres.create_database(), WAYS[way]("postgresql"))
        declared = await tables(postgres.create_database(), *_declared(postgresql.dialect()))  # type: ignore[no-untyped-call]
        assert migrated == declared
        assert len(migrated[0]) == sum(len(table.columns) for table in metadata.sorted_tables)

    asyncio.run(run())


def _declared(dialect: Any) -> list[str]:
    statements: list[str] = []
    for table in metadata.sorted_tables:
        statements.append(str(CreateTable(table).compile(dialect=dialect)))
        statements += [str(CreateIndex(index).compile(dialect=dialect)) for index in table.indexes]
    return statements


NEXT_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade():
    op.add_column("instance", sa.Column("noted_at_ms", sa.BigInteger()))
"""


def test_an_older_database_is_brought_on_by_alembic(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrations = shutil.copytree(offline.MIGRATIONS, tmp_path / "migrations")
    (migrations / "versions" / "r0002_next.py").write_text(NEXT_MIGRATION)
    monkeypatch.setattr(offline, "MIGRATIONS", migrations)
    monkeypatch.setattr(schema, "HEAD", "0002")
    assert [migrate(database), migrate(database)] == [True, False]

    async def run() -> None:
        async with opened(database) as store:
            assert await store.schema_revision() == "0002"
            assert not await is_current(store), "these tables are of a later version"
            assert await store.found(an_organization(), [], [], {}), "what was there still works"

    asyncio.run(run())
