"""Migrations lead to the declared tables, once, whichever process runs them; a newer database is refused."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from keystead.api.errors import Unavailable
from keystead.storage import migrations, schema
from keystead.storage.migrations import SchemaTooNew, is_current, newest
from keystead.storage.open import sqlite_path
from keystead.storage.schema import migrate, pending_migrations
from keystead.storage.statements import SQL
from keystead.storage.tables import TABLES
from tests.storage.conftest import ENGINES, opened
from tests.support.commit_samples import an_organization
from tests.support.postgres import PostgresServer


@pytest.fixture(params=ENGINES)
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/new.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.create_database()


def test_migrating_twice_and_at_once(empty_database: str) -> None:
    assert len(pending_migrations(empty_database)) == newest()
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(migrate, [empty_database] * 4))
    assert 1 <= results.count(True) <= newest(), "each migration is run by one of them"
    assert migrate(empty_database) is False
    assert pending_migrations(empty_database) == ()

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


def test_a_newer_database_is_refused_and_left_as_it_is(database: str) -> None:
    executed(database, f"UPDATE schema_version SET version = {newest() + 1}")
    executed(database, f"UPDATE instance SET value = '{newest() + 1}' WHERE name = 'oldest_server'")
    refusal = f"newer than this version of Keystead: its tables have version {newest() + 1}"
    for use in (migrate, pending_migrations):
        with pytest.raises(SchemaTooNew, match=refusal):
            use(database)

    async def run() -> None:
        async with opened(database) as store:
            with pytest.raises(SchemaTooNew, match=refusal):
                await is_current(store)

    asyncio.run(run())


NEXT = "ALTER TABLE instance ADD COLUMN noted_at_ms BIGINT;\n"
BROKEN = f"{NEXT}ALTER TABLE missing ADD COLUMN noted_at_ms BIGINT;\n"


@pytest.fixture
def sql_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the migrations from now on: a copy."""
    folder = shutil.copytree(SQL, tmp_path / "sql")
    known = migrations.migrations
    monkeypatch.setattr(schema, "migrations", lambda dialect: known(dialect, folder))
    return folder


def test_an_older_database_is_migrated(database: str, sql_folder: Path) -> None:
    for dialect in ("sqlite", "postgresql"):
        (sql_folder / dialect / f"{newest() + 1:04}_next.sql").write_text(NEXT)
    assert [migrate(database), migrate(database)] == [True, False]

    async def run() -> None:
        async with opened(database) as store:
            assert await store.installation.schema_version() == newest() + 1
            assert await store.bootstrap(an_organization(), [], [], {}), "the rest still works"

    asyncio.run(run())


def test_a_migration_that_fails_changes_nothing(database: str, sql_folder: Path) -> None:
    """The one before it stays: each has its own transaction."""
    for dialect in ("sqlite", "postgresql"):
        (sql_folder / dialect / f"{newest() + 1:04}_next.sql").write_text(
            "ALTER TABLE instance ADD COLUMN a BIGINT;\n"
        )
        (sql_folder / dialect / f"{newest() + 2:04}_broken.sql").write_text(BROKEN)
    for _ in range(2):
        with pytest.raises(Unavailable):
            migrate(database)
    columns = {name for table, name, *_ in columns_of(database) if table == "instance"}
    assert columns == {"name", "value", "a"}


def test_migrations_are_numbered_without_gaps(sql_folder: Path) -> None:
    (sql_folder / "sqlite" / f"{newest() + 2:04}_after_a_gap.sql").write_text(NEXT)
    with pytest.raises(ValueError, match="not numbered"):
        migrations.migrations("sqlite", sql_folder)


def test_both_databases_have_the_same_migrations() -> None:
    names = [{file.name for file in (SQL / each).glob("0*.sql")} for each in ("sqlite", "postgresql")]
    assert names[0] == names[1]


Columns = dict[tuple[str, str], tuple[Any, ...]]
"""Type, place in the key, and whether rows may lack it, by table and column."""


def addition_problem(before: Columns, after: Columns) -> str:
    """Why servers that know the tables before a migration cannot use those after it, or ""."""
    if lost := [one for one, column in before.items() if after.get(one) != column]:
        return f"columns are lost or changed: {lost}"
    tables = {table for table, _ in before}
    needed = [one for one in after.keys() - before.keys() if one[0] in tables and not after[one][2]]
    return f"older servers write rows without these columns: {needed}" if needed else ""


def columns_after(connection: sqlite3.Connection, sql: str) -> Columns:
    connection.executescript(sql)
    found = connection.execute(
        "SELECT m.name, c.name, c.type, c.pk, c.[notnull], c.dflt_value FROM sqlite_master AS m, "
        "pragma_table_info(m.name) AS c WHERE m.type = 'table'"
    )
    return {
        (table, column): (type_, key, not needed or default is not None)
        for table, column, type_, key, needed, default in found
    }


def test_migrations_only_add() -> None:
    """Or they say which servers they stop."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        before: Columns = {}
        for step in migrations.migrations("sqlite"):
            after = columns_after(connection, step.sql)
            if before and step.oldest_server != step.number:
                assert addition_problem(before, after) == "", step.number
            before = after


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("CREATE TABLE later (id TEXT NOT NULL)", ""),
        ("ALTER TABLE instance ADD COLUMN later TEXT", ""),
        ("ALTER TABLE instance ADD COLUMN later INTEGER NOT NULL DEFAULT 7", ""),
        ("ALTER TABLE instance DROP COLUMN value", "columns are lost or changed: [('instance', 'value')]"),
        ("DROP TABLE instance", "columns are lost or changed: [('instance', 'name'), ('instance', 'value')]"),
        (
            "DROP TABLE instance; CREATE TABLE instance (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL, "
            "later TEXT NOT NULL)",
            "older servers write rows without these columns: [('instance', 'later')]",
        ),
    ],
)
def test_what_an_addition_is(sql: str, problem: str) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        before = columns_after(connection, migrations.migrations("sqlite")[0].sql)
        assert addition_problem(before, columns_after(connection, sql)) == problem


def test_a_migration_that_stops_servers_stops_them_for_good(sql_folder: Path) -> None:
    for number, line in ((newest() + 1, f"-- oldest server: {newest() + 1:04}\n"), (newest() + 2, "")):
        (sql_folder / "sqlite" / f"{number:04}_next.sql").write_text(line + NEXT)
    oldest = [step.oldest_server for step in migrations.migrations("sqlite", sql_folder)]
    assert oldest[-2:] == [newest() + 1, newest() + 1]


def test_of_the_contacts_on_record_those_that_are_verified_find_accounts(database: str) -> None:
    """Migration 6, on a database as it was before."""
    executed(database, "UPDATE schema_version SET version = 5")
    for column in ("record_count", "counted_version"):
        executed(database, f"ALTER TABLE organization DROP COLUMN {column}")
    for table in ("velocity_counter", "velocity_entry", "refused_request"):
        executed(database, f"DROP TABLE {table}")
    executed(database, "DROP INDEX activity_by_time")
    for kind, value in (
        ("email", "written@example.com"),
        ("email", "ada@example.com"),
        ("verified_email", "ada@example.com"),
        ("verified_phone_number", "+14155550123"),
        ("public_key", "02"),
    ):
        row = f"'{kind}', '{value}', 'parent', 'organization', 'user', (1 = 0)"
        executed(database, f"INSERT INTO lookup SELECT {row}")
    assert migrate(database)
    found = executed(
        database,
        "SELECT kind, value, parent_id, organization_id, holder_id FROM lookup WHERE kind LIKE 'account_%'",
    )
    assert sorted(found) == [
        ("account_email", "ada@example.com", "parent", "organization", "user"),
        ("account_phone_number", "+14155550123", "parent", "organization", "user"),
    ]
    assert executed(database, "SELECT count(*) FROM lookup") == [(7,)]
    assert migrations.migrations("sqlite")[5].oldest_server == 6, "older servers would find accounts by any contact"


TYPES = {
    "sqlite": {str: {"TEXT"}, int: {"INTEGER"}, bool: {"INTEGER"}, bytes: {"BLOB"}},
    "postgresql": {str: {"text"}, int: {"bigint"}, bool: {"boolean"}, bytes: {"bytea"}},
}


def test_migrations_lead_to_the_declared_tables(database: str) -> None:
    """The same names, columns in the same order, types and keys on both databases; texts compare by code point."""
    types = TYPES["postgresql" if sqlite_path(database) is None else "sqlite"]
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table, *column in columns_of(database):
        found.setdefault(table, []).append(tuple(column))
    assert found.pop("schema_version")
    assert found.pop("kept_account")
    assert found.keys() == {table.name for table in TABLES}
    for table in TABLES:
        columns = found[table.name]
        assert [name for name, *_ in columns] == list(table.names), table.name
        for (name, type_), (_, found_type, collation) in zip(table.columns, columns, strict=True):
            assert found_type in types[type_], (table.name, name)
            assert collation == ("C" if found_type == "text" else None), (table.name, name)
        assert keys_of(database)[table.name] == list(table.key), table.name


def test_both_databases_have_the_same_indexes() -> None:
    texts = [(SQL / each / "0001_first_tables.sql").read_text() for each in ("sqlite", "postgresql")]
    found = [re.findall(r"CREATE (?:UNIQUE )?INDEX [^;]+;", text) for text in texts]
    assert len(found[0]) > 8
    assert found[0] == found[1]


def columns_of(url: str) -> list[tuple[Any, ...]]:
    """(table or view, column, type, collation), in order."""
    if sqlite_path(url) is not None:
        return executed(
            url,
            "SELECT m.name, c.name, c.type, NULL FROM sqlite_master AS m, pragma_table_info(m.name) AS c "
            "WHERE m.type IN ('table', 'view') ORDER BY m.name, c.cid",
        )
    return executed(
        url,
        "SELECT table_name::text, column_name::text, data_type::text, collation_name::text "
        "FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, ordinal_position",
    )


def keys_of(url: str) -> dict[str, list[str]]:
    """The columns of each table's primary key, in order."""
    if sqlite_path(url) is not None:
        sql = (
            "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c "
            "WHERE m.type = 'table' AND c.pk > 0 ORDER BY m.name, c.pk"
        )
    else:
        sql = (
            "SELECT table_name::text, column_name::text FROM information_schema.key_column_usage "
            "WHERE table_schema = 'public' ORDER BY 1, ordinal_position"
        )
    keys: dict[str, list[str]] = {}
    for table, column in executed(url, sql):
        keys.setdefault(table, []).append(column)
    return keys


def executed(url: str, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement that runs beside any store."""
    path = sqlite_path(url)
    if path is not None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            return connection.execute(sql).fetchall()

    async def run() -> list[tuple[Any, ...]]:
        connection: Any = await asyncpg.connect(url)
        rows = await connection.fetch(sql)
        await connection.close()
        return [tuple(row) for row in rows]

    return asyncio.run(run())
