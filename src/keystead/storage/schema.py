"""Migrates the tables of a database to this version.

Here: `migrate`, `pending_migrations`, and running migrations on SQLite. Not here: the migrations (`migrations`),
running them on PostgreSQL (`postgres.schema`).
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from keystead.storage.migrations import (
    OLDEST_SERVER,
    Migration,
    MigrationBegins,
    migrations,
    no_progress,
    pending,
    statements_of,
)
from keystead.storage.open import TIMEOUT_S, sqlite_path
from keystead.storage.sqlite.connection import DatabaseFile, error_for_caller


def migrate(database_url: str, begins: MigrationBegins = no_progress) -> bool:
    """Run the migrations that the database needs, each in its own transaction. Returns False if it needs none.

    `begins` is called before each, with its number and the last one. Creates the file of a SQLite database. Several
    processes may call it at once: one runs a migration, the others wait. Raises Unavailable, SchemaTooNew, and
    ValueError for a bad URL. Blocks. For PostgreSQL it runs its own event loop, so call it without a running loop,
    or in a thread.
    """
    path = sqlite_path(database_url)
    if path is not None:
        return _migrate_sqlite(path, migrations("sqlite"), begins)
    from keystead.storage.postgres.schema import migrate_postgres

    steps = migrations("postgresql")
    return asyncio.run(migrate_postgres(database_url, steps, begins, connect_timeout_s=TIMEOUT_S))


def distribute(database_url: str) -> bool:
    """Distribute the tables of a migrated database over the nodes of its Citus cluster. Returns False if they are
    distributed already.

    No server may use the database. Raises Unavailable, NotDistributable, and ValueError for a URL of another
    database. Blocks: see `migrate`.
    """
    if sqlite_path(database_url) is not None:
        raise ValueError("tables of SQLite cannot be distributed: Citus is an extension of PostgreSQL")
    from keystead.storage.postgres.schema import distribute_postgres

    return asyncio.run(distribute_postgres(database_url, connect_timeout_s=TIMEOUT_S))


def pending_migrations(database_url: str) -> tuple[Migration, ...]:
    """The migrations that `migrate` would run. Changes nothing. Raises the errors of `migrate`."""
    path = sqlite_path(database_url)
    if path is not None:
        steps = migrations("sqlite")
        if not path.exists():
            return steps
        with _connection(path, create=False) as connection:
            return _pending(steps, connection)
    from keystead.storage.postgres.schema import pending_on_postgres

    return asyncio.run(pending_on_postgres(database_url, migrations("postgresql"), connect_timeout_s=TIMEOUT_S))


def _migrate_sqlite(path: Path, steps: tuple[Migration, ...], begins: MigrationBegins) -> bool:
    has_changed = False
    with _connection(path, create=True) as connection:
        while True:
            connection.execute("BEGIN EXCLUSIVE")
            try:
                needed = _pending(steps, connection)
                if needed:
                    begins(needed[0].number, needed[-1].number)
                    for statement in statements_of(needed[0].sql):
                        connection.execute(statement)
                    connection.execute("DELETE FROM schema_version")
                    connection.execute("INSERT INTO schema_version (version) VALUES (?)", (needed[0].number,))
                    oldest = str(needed[0].oldest_server).encode()
                    connection.execute(
                        "INSERT OR REPLACE INTO instance (name, value) VALUES (?, ?)", (OLDEST_SERVER, oldest)
                    )
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            if not needed:
                return has_changed
            has_changed = True


@contextlib.contextmanager
def _connection(path: Path, *, create: bool) -> Iterator[sqlite3.Connection]:
    try:
        connection = DatabaseFile(path, lock_wait_s=TIMEOUT_S).connect(create=create)
        try:
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise error_for_caller(error) from error


def _pending(steps: tuple[Migration, ...], connection: sqlite3.Connection) -> tuple[Migration, ...]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchall():
        return steps
    versions = connection.execute("SELECT version FROM schema_version").fetchall()
    oldest = connection.execute("SELECT value FROM instance WHERE name = ?", (OLDEST_SERVER,)).fetchall()
    return pending(steps, int(versions[0][0]) if versions else 0, oldest[0][0] if oldest else None)
