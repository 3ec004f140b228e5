"""Snapshots of a SQLite database: every table is put back, and half of nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from keystead.storage.open import open_store
from keystead.storage.schema import migrate
from keystead.storage.sqlite.database import SqliteDatabase
from keystead.storage.sqlite.snapshots import restore_organization, restore_snapshot, take_snapshot
from keystead.storage.store import DatabaseStore
from keystead.storage.tables import TABLES, Table

TABLES_PUT_BACK = [table for table in TABLES if table.name not in ("instance", "process")]


def row(table: Table, organization_id: str, number: int) -> tuple[Any, ...]:
    """A row whose values differ by `number`."""
    values = {str: f"{organization_id} {number}", int: number, bool: False, bytes: b"%d" % number}
    named = {name: values[type_] for name, type_ in table.columns}
    if table.name == "organization":
        named |= {"id": organization_id, "parent_id": None}
    else:
        named |= {"organization_id": organization_id}
    return tuple(named[name] for name in table.names)


def fill(path: Path, organization_id: str, number: int) -> None:
    with sqlite3.connect(path) as database:
        for table in TABLES:
            if table.name == "organization" and number != 1:
                continue
            values = row(table, organization_id, number)
            if table.name == "instance":
                values = (f"{organization_id} {number}", b"value")
            places = ", ".join("?" * len(values))
            database.execute(f"INSERT INTO {table.name} VALUES ({places})", values)
    database.close()


def contents(path: Path) -> dict[str, set[tuple[Any, ...]]]:
    database = sqlite3.connect(path)
    found = {table.name: set(database.execute(f"SELECT * FROM {table.name}")) for table in TABLES}
    database.close()
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "keystead.db"
    migrate(f"sqlite:///{path}")
    return path


async def opened(path: Path) -> DatabaseStore:
    store = await open_store(f"sqlite:///{path}")
    assert isinstance(store.database, SqliteDatabase)
    return store


def test_every_table_is_put_back(path: Path) -> None:
    async def there_and_back() -> None:
        store = await opened(path)
        fill(path, "one", 1)
        before = contents(path)
        snapshot = await take_snapshot(store)
        fill(path, "two", 1)
        fill(path, "one", 2)
        await restore_snapshot(store, snapshot)
        after = contents(path)
        assert [after[table.name] for table in TABLES_PUT_BACK] == [before[table.name] for table in TABLES_PUT_BACK]
        snapshot.close()
        await store.close()

    asyncio.run(there_and_back())


def test_one_organization_is_put_back(path: Path) -> None:
    async def there_and_back() -> None:
        store = await opened(path)
        fill(path, "one", 1)
        snapshot = await take_snapshot(store)
        fill(path, "two", 1)
        fill(path, "one", 2)
        assert await restore_organization(store, snapshot, "one")
        after = contents(path)
        for table in TABLES_PUT_BACK:
            assert after[table.name] == {row(table, "one", 1), row(table, "two", 1)}, table.name
        assert await restore_organization(store, snapshot, "two")
        for table in TABLES_PUT_BACK:
            assert contents(path)[table.name] == {row(table, "one", 1)}, table.name
        assert not await restore_organization(store, snapshot, "two")
        snapshot.close()
        await store.close()

    asyncio.run(there_and_back())
