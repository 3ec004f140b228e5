"""Migrations lead to the tables that the statements are built from, once, whoever runs them."""

from __future__ import annotations

import asyncio
import re
import sqlite3
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
from keystead.storage.dialects import SqliteDialect, Statement
from keystead.storage.open import open_store, sqlite_path
from keystead.storage.schema import HEAD, alembic_config, is_current, migrate
from keystead.storage.statements import reads
from keystead.storage.tables import metadata
from keystead.storage.writes import activity_swap, deletions, dissolution, organization_swap, wallet_emptying
from tests.postgres import PostgresServer
from tests.storage.conftest import ENGINES, MakeDatabase, opened


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


def test_migrations_lead_to_the_declared_tables_on_sqlite(new_sqlite: MakeDatabase) -> None:
    url = new_sqlite()
    engine = create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()
    declared = sqlite3.connect(":memory:")
    for statement in _declared(sqlite.dialect()):
        declared.execute(statement)
    migrated = sqlite3.connect(url.removeprefix("sqlite:///"))
    question = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'alembic_version'"
    found = [
        {name: re.sub(r"\s+", " ", sql).strip() for name, sql in connection.execute(question)}
        for connection in (migrated, declared)
    ]
    assert found[0] == found[1]
    migrated.close()
    declared.close()


def test_migrations_lead_to_the_declared_tables_on_postgres(
    new_postgres: MakeDatabase, postgres: PostgresServer
) -> None:
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
        migrated = await tables(new_postgres_url)
        declared = await tables(postgres.create_database(), *_declared(postgresql.dialect()))  # type: ignore[no-untyped-call]
        assert migrated == declared
        assert len(migrated[0]) == sum(len(table.columns) for table in metadata.sorted_tables)

    new_postgres_url = new_postgres()
    asyncio.run(run())


def _declared(dialect: Any) -> list[str]:
    statements: list[str] = []
    for table in metadata.sorted_tables:
        statements.append(str(CreateTable(table).compile(dialect=dialect)))
        statements += [str(CreateIndex(index).compile(dialect=dialect)) for index in table.indexes]
    return statements


def test_no_statement_walks_through_a_table_on_sqlite(new_sqlite: MakeDatabase) -> None:
    connection = sqlite3.connect(new_sqlite().removeprefix("sqlite:///"))
    dialect = SqliteDialect()
    declared = reads(dialect)
    statements: list[Statement] = []
    for field in declared.__struct_fields__:
        found = getattr(declared, field)
        statements += found.values() if isinstance(found, dict) else [found]
    written = [organization_swap(dialect).update.sql, activity_swap(dialect).update.sql]
    written += [*deletions(dialect).values(), *dissolution(dialect)]
    written += [statement.sql for statement in wallet_emptying(dialect)]
    for sql in (*[statement.sql for statement in statements], *written):
        plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?")).fetchall()
        for *_, step in plan:
            table = re.match(r"SCAN (\w+)", step)
            assert table is None or table[1] not in metadata.tables, f"{step}\n{sql}"
    connection.close()


def test_accounts_are_found_by_their_own_index_on_sqlite(new_sqlite: MakeDatabase) -> None:
    """However many there are: a walk through all accounts of an organization would not show as a scan."""
    connection = sqlite3.connect(new_sqlite().removeprefix("sqlite:///"))
    declared = reads(SqliteDialect())
    for statement, index in [
        (declared.accounts_with_address, "wallet_account_by_address"),
        (declared.accounts_at, "wallet_account_by_path"),
        (declared.accounts_called, "wallet_account_by_name"),
        (declared.accounts_of_ids, "sqlite_autoindex_wallet_account_1"),
    ]:
        arguments = [None] * statement.sql.count("?")
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", arguments).fetchall()
        assert any(f"USING INDEX {index} " in step for *_, step in plan), (index, plan)
    connection.close()


@pytest.mark.parametrize("url", ["mysql://h/d", "sqlite://", "sqlite:///:memory:", "nonsense", "sqlite:///"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///"):
        migrate(url)

    async def run() -> None:
        with pytest.raises(ValueError, match="sqlite:///"):
            await open_store(url)

    asyncio.run(run())
