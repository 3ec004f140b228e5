"""Bring a database's tables to what this version needs.

Here: `migrate`. Not here: the tables (`declared.tables`), the steps (`migrations`), asking whether there is any to
take (`revisions`). Alembic writes the SQL of the steps, ahead of time for a database without tables; the engines'
own drivers run it, in one transaction under a lock.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from keystead.storage.open import TIMEOUT_S, sqlite_path
from keystead.storage.revisions import HEAD
from keystead.storage.sqlite_connection import DatabaseFile, translated
from keystead.storage.statements import first_tables


def migrate(database_url: str) -> bool:
    """Make or update the tables, all or nothing; False if there was nothing to do. Creates a SQLite file.

    Safe to run from several processes at once: they take turns. Raises Unavailable, ValueError for a bad URL.
    Blocks; runs an event loop of its own for PostgreSQL, so call it outside of one or in a thread.
    """
    path = sqlite_path(database_url)
    if path is not None:
        return _migrate_sqlite(path)
    from keystead.storage.postgres_schema import migrate_postgres

    return asyncio.run(migrate_postgres(database_url, _upgrade_sql, connect_timeout_s=TIMEOUT_S))


def _migrate_sqlite(path: Path) -> bool:
    try:
        connection = DatabaseFile(path, lock_wait_s=TIMEOUT_S).connect(create=True)
        try:
            connection.execute("BEGIN EXCLUSIVE")
            try:
                statements = _statements(_upgrade_sql("sqlite", _sqlite_revision(connection)))
                for statement in statements:
                    connection.execute(statement)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translated(error) from error
    return bool(statements)


def _sqlite_revision(connection: sqlite3.Connection) -> str | None:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchall():
        return None
    found = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    return str(found[0][0]) if found else None


def _statements(script: str) -> list[str]:
    statements, unfinished = [], ""
    for line in script.splitlines(keepends=True):
        unfinished += line
        if sqlite3.complete_statement(unfinished):
            statements.append(unfinished.strip())
            unfinished = ""
    return statements


def _upgrade_sql(dialect: str, revision: str | None) -> str:
    """The SQL that leads from this revision (None: no tables) to the newest; "" where it is the newest."""
    if revision == HEAD:
        return ""
    if revision is None:
        return first_tables(dialect)
    # Imported for old databases only: it takes longer than starting a server.
    from keystead.storage.migrations.offline import upgrade_sql

    return upgrade_sql(dialect, revision)
