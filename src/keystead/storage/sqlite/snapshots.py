"""Takes snapshots of a SQLite database in memory, and restores them, for all organizations or for one.

For development servers. Not here: their names (`server.development.snapshots`). Restoring
changes neither the values of the installation, such as its keys, nor the rows of processes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeVar

from keystead.storage.sqlite.database import SqliteDatabase
from keystead.storage.store import DatabaseStore
from keystead.storage.tables import TABLES, Table

ResultT = TypeVar("ResultT")

_TABLES = tuple(table for table in TABLES if table.name not in ("instance", "process"))


class Snapshot:
    """The contents of a database at one moment. `bytes`: the memory it takes."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        (pages,), (page_bytes,) = (
            database.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size")
        )
        self.bytes: int = pages * page_bytes

    def close(self) -> None:
        self.database.close()


async def take_snapshot(store: DatabaseStore) -> Snapshot:
    """A snapshot of the present state. Raises Unavailable."""

    def copy_database(connection: sqlite3.Connection) -> Snapshot:
        memory = sqlite3.connect(":memory:", isolation_level=None)
        connection.backup(memory)
        return Snapshot(memory)

    return await _exclusively(store, copy_database)


async def restore_snapshot(store: DatabaseStore, snapshot: Snapshot) -> None:
    """Restore the state of the snapshot. Later changes are lost. Raises Unavailable."""

    def replace_rows(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            connection.execute(f"DELETE FROM {table.name}")  # noqa: S608 - a name of our own
            _copy(snapshot, connection, table, "", ())
        connection.execute("COMMIT")

    await _exclusively(store, replace_rows)


async def restore_organization(store: DatabaseStore, snapshot: Snapshot, organization_id: str) -> bool:
    """Restore one organization and its sub-organizations. Those that were made after the snapshot are removed.

    Returns False if the organization exists neither now nor in the snapshot. Raises Unavailable.
    """

    def replace_rows(connection: sqlite3.Connection) -> bool:
        ids = _with_suborganizations(connection, organization_id) | _with_suborganizations(
            snapshot.database, organization_id
        )
        listed = json.dumps(sorted(ids))
        connection.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            column = "id" if table.name == "organization" else "organization_id"
            condition = f" WHERE {column} IN (SELECT value FROM json_each(?))"  # noqa: S608
            connection.execute(f"DELETE FROM {table.name}{condition}", (listed,))  # noqa: S608 - names of our own
            _copy(snapshot, connection, table, condition, (listed,))
        connection.execute("COMMIT")
        return bool(ids)

    return await _exclusively(store, replace_rows)


async def _exclusively(store: DatabaseStore, work: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
    """Run `work` on a connection while this process writes nothing else, then drop the caches."""
    assert isinstance(store.database, SqliteDatabase)
    await store.finish_commits()
    return store.database.exclusively(work)


def _with_suborganizations(database: sqlite3.Connection, organization_id: str) -> set[str]:
    sql = "SELECT id FROM organization WHERE id = ? OR parent_id = ?"
    return {id_ for (id_,) in database.execute(sql, (organization_id, organization_id))}


def _copy(
    snapshot: Snapshot, connection: sqlite3.Connection, table: Table, condition: str, arguments: Sequence[str]
) -> None:
    columns = ", ".join(table.names)
    rows = snapshot.database.execute(f"SELECT {columns} FROM {table.name}{condition}", arguments)  # noqa: S608
    places = ", ".join("?" * len(table.names))
    connection.executemany(f"INSERT INTO {table.name} ({columns}) VALUES ({places})", rows)  # noqa: S608
