"""Bring a database's tables to what this version needs, and tell whether they are.

Here: `migrate`, `is_current`. Not here: the tables (`tables`), the steps (`migrations`).
Alembic writes the SQL of the steps; the engines' own drivers run it, in one transaction under a lock.
"""

from __future__ import annotations

import asyncio
import io
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from keystead.storage.base import DatabaseStore
from keystead.storage.open import TIMEOUT_S, sqlite_path
from keystead.storage.sqlite_connection import DatabaseFile, translated

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0001"
"""The newest migration. Written here because importing Alembic takes longer than starting the server."""


async def is_current(store: DatabaseStore) -> bool:
    """Whether the tables are those of this version. Raises Unavailable while the database does not answer."""
    return await store.schema_revision() == HEAD


def migrate(database_url: str) -> bool:
    """Make or update the tables, all or nothing; False if there was nothing to do. Creates a SQLite file.

    Safe to run from several processes at once: they take turns. Raises Unavailable, ValueError for a bad URL.
    Blocks; runs an event loop of its own for PostgreSQL, so call it outside of one or in a thread.
    """
    path = sqlite_path(database_url)
    if path is not None:
        return _migrate_sqlite(path)
    from keystead.storage.postgres_schema import migrate_postgres

    return asyncio.run(migrate_postgres(database_url, upgrade_sql, connect_timeout_s=TIMEOUT_S))


def _migrate_sqlite(path: Path) -> bool:
    try:
        connection = DatabaseFile(path, lock_wait_s=TIMEOUT_S).connect(create=True)
        try:
            connection.execute("BEGIN EXCLUSIVE")
            try:
                statements = _statements(upgrade_sql("sqlite", _sqlite_revision(connection)))
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


def upgrade_sql(dialect: str, revision: str | None) -> str:
    """The SQL that leads from this revision (None: no tables) to the newest; "" where it is the newest."""
    if revision == HEAD:
        return ""
    from alembic import command

    script = io.StringIO()
    config = alembic_config(output_buffer=script)
    config.attributes["dialect"] = dialect
    command.upgrade(config, f"{revision or 'base'}:head", sql=True)
    return script.getvalue()


def alembic_config(*, output_buffer: io.StringIO | None = None) -> Config:
    from alembic.config import Config

    config = Config(output_buffer=output_buffer)
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
