"""Snapshots of a SQLite database in memory, and putting one back, whole or for one organization.

For development servers. Not here: their names (`server.development.snapshots`). The values of the installation (its
keys) and its processes are left as they are: a snapshot is of the organizations.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from keystead.storage.sqlite import SqliteStore
from keystead.storage.tables import TABLES, Table

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


async def take_snapshot(store: SqliteStore) -> Snapshot:
    """What is stored now. Raises Unavailable."""

    def copied(connection: sqlite3.Connection) -> Snapshot:
        memory = sqlite3.connect(":memory:", isolation_level=None)
        connection.backup(memory)
        return Snapshot(memory)

    return await store.exclusively(copied)


async def put_back(store: SqliteStore, snapshot: Snapshot) -> None:
    """Make everything as it was; what was stored since is gone. Raises Unavailable."""

    def replaced(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            connection.execute(f"DELETE FROM {table.name}")  # noqa: S608 - a name of our own
            _copy(snapshot, connection, table, "", ())
        connection.execute("COMMIT")

    await store.exclusively(replaced)


async def put_organization_back(store: SqliteStore, snapshot: Snapshot, organization_id: str) -> bool:
    """Make one organization and its sub-organizations as they were; those that were not there are gone.

    Whether there was such an organization, then or now. Raises Unavailable.
    """

    def replaced(connection: sqlite3.Connection) -> bool:
        ids = _family(connection, organization_id) | _family(snapshot.database, organization_id)
        listed = json.dumps(sorted(ids))
        connection.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            column = "id" if table.name == "organization" else "organization_id"
            condition = f" WHERE {column} IN (SELECT value FROM json_each(?))"  # noqa: S608
            connection.execute(f"DELETE FROM {table.name}{condition}", (listed,))  # noqa: S608 - names of our own
            _copy(snapshot, connection, table, condition, (listed,))
        connection.execute("COMMIT")
        return bool(ids)

    return await store.exclusively(replaced)


def _family(database: sqlite3.Connection, organization_id: str) -> set[str]:
    sql = "SELECT id FROM organization WHERE id = ? OR parent_id = ?"
    return {id_ for (id_,) in database.execute(sql, (organization_id, organization_id))}


def _copy(
    snapshot: Snapshot, connection: sqlite3.Connection, table: Table, condition: str, arguments: Sequence[str]
) -> None:
    columns = ", ".join(table.names)
    found = snapshot.database.execute(f"SELECT {columns} FROM {table.name}{condition}", arguments)  # noqa: S608
    places = ", ".join("?" * len(table.names))
    connection.executemany(f"INSERT INTO {table.name} ({columns}) VALUES ({places})", found)  # noqa: S608
