"""Runs migrations on PostgreSQL. Here: the lock and the transactions. Not here: the migrations (`migrations`)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import asyncpg

from keystead.storage.migrations import Migration, pending
from keystead.storage.postgres_connections import connect, translated

_MIGRATION_LOCK = 0x6B657973
"""The number of the advisory lock that a migration holds. Nothing else may use this number on the database."""


async def migrate_postgres(url: str, steps: tuple[Migration, ...], *, connect_timeout_s: float) -> bool:
    """Run the migrations that the database needs, each in its own transaction. Returns False if it needs none.

    Raises Unavailable and SchemaTooNew.
    """
    has_changed = False
    async with _connected(url, connect_timeout_s) as connection:
        while True:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATION_LOCK, timeout=None)
                needed = pending(steps, await _version(connection))
                if not needed:
                    return has_changed
                await connection.execute(needed[0].sql, timeout=None)
                await connection.execute("DELETE FROM schema_version")
                await connection.execute("INSERT INTO schema_version (version) VALUES ($1)", needed[0].number)
            has_changed = True


async def postgres_version(url: str, *, connect_timeout_s: float) -> int:
    """The number of the last migration that was run; 0 if there are no tables. Raises Unavailable."""
    async with _connected(url, connect_timeout_s) as connection:
        return await _version(connection)


async def _version(connection: Any) -> int:
    if not await connection.fetchval("SELECT to_regclass('schema_version') IS NOT NULL"):
        return 0
    return int(await connection.fetchval("SELECT version FROM schema_version") or 0)


@contextlib.asynccontextmanager
async def _connected(url: str, timeout_s: float) -> AsyncIterator[Any]:
    try:
        connection = await connect(url, timeout_s)
        try:
            yield connection
        finally:
            await connection.close()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise translated(error) from error
