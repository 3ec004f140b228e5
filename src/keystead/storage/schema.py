"""Migrates the tables of a database to this version.

Here: `migrate`, `pending_migrations`, and running migrations on SQLite. Not here: the migrations (`migrations`),
running them on PostgreSQL (`postgres_schema`).
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from keystead.storage.migrations import Migration, migrations, pending
from keystead.storage.open import TIMEOUT_S, sqlite_path
from keystead.storage.sqlite_connection import DatabaseFile, translated


def migrate(database_url: str) -> bool:
    """Run the migrations that the database needs, each in its own transaction. Returns False if it needs none.

    Creates the file of a SQLite database. Several processes may call it at once: one runs a migration, the others
    wait. Raises Unavailable, SchemaTooNew, and ValueError for a bad URL. Blocks. For PostgreSQL it runs its own
    event loop, so call it without a running loop, or in a thread.
    """
    path = sqlite_path(database_url)
    if path is not None:
        return _migrate_sqlite(path, migrations("sqlite"))
    from keystead.storage.postgres_schema import migrate_postgres

    return asyncio.run(migrate_postgres(database_url, migrations("postgresql"), connect_timeout_s=TIMEOUT_S))


def pending_migrations(database_url: str) -> tuple[Migration, ...]:
    """The migrations that `migrate` would run. Changes nothing. Raises the errors of `migrate`."""
    path = sqlite_path(database_url)
    if path is not None:
        steps = migrations("sqlite")
        if not path.exists():
            return steps
        with _connected(path, create=False) as connection:
            return pending(steps, _sqlite_version(connection))
    from keystead.storage.postgres_schema import postgres_version

    version = asyncio.run(postgres_version(database_url, connect_timeout_s=TIMEOUT_S))
    return pending(migrations("postgresql"), version)


def _migrate_sqlite(path: Path, steps: tuple[Migration, ...]) -> bool:
    has_changed = False
    with _connected(path, create=True) as connection:
        while True:
            connection.execute("BEGIN EXCLUSIVE")
            try:
                needed = pending(steps, _sqlite_version(connection))
                if needed:
                    for statement in _statements(needed[0].sql):
                        connection.execute(statement)
                    connection.execute("DELETE FROM schema_version")
                    connection.execute("INSERT INTO schema_version (version) VALUES (?)", (needed[0].number,))
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            if not needed:
                return has_changed
            has_changed = True


@contextlib.contextmanager
def _connected(path: Path, *, create: bool) -> Iterator[sqlite3.Connection]:
    try:
        connection = DatabaseFile(path, lock_wait_s=TIMEOUT_S).connect(create=create)
        try:
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translated(error) from error


def _sqlite_version(connection: sqlite3.Connection) -> int:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchall():
        return 0
    found = connection.execute("SELECT version FROM schema_version").fetchall()
    return int(found[0][0]) if found else 0


def _statements(script: str) -> Iterator[str]:
    unfinished = ""
    for line in script.splitlines(keepends=True):
        unfinished += line
        if sqlite3.complete_statement(unfinished):
            yield unfinished.strip()
            unfinished = ""
