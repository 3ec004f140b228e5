"""Runs migrations on PostgreSQL. Here: the lock and the transactions. Not here: the migrations (`migrations`)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import asyncpg

from keystead.storage import migrations
from keystead.storage.postgres.connections import connect, error_for_caller
from keystead.storage.postgres.distribution import distribute_new_tables, distribute_tables, is_distributed

_MIGRATION_LOCK = 0x6B657973
"""The number of the advisory lock that a migration holds. Nothing else may use this number on the database."""


async def migrate_postgres(
    url: str,
    steps: tuple[migrations.Migration, ...],
    begins: migrations.MigrationBegins = migrations.no_progress,
    *,
    connect_timeout_s: float,
) -> bool:
    """Run the migrations that the database needs, each in its own transaction. Returns False if it needs none.

    `begins` is called before each. Raises Unavailable and SchemaTooNew.
    """
    has_changed = False
    async with _connection(url, connect_timeout_s) as connection:
        while True:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATION_LOCK, timeout=None)
                needed = await _pending(steps, connection)
                if not needed:
                    return has_changed
                begins(needed[0].number, needed[-1].number)
                for statement in migrations.statements_of(needed[0].sql):
                    await connection.execute(statement, timeout=None)
                if await is_distributed(connection):
                    await distribute_new_tables(connection)
                await connection.execute("DELETE FROM schema_version")
                await connection.execute("INSERT INTO schema_version (version) VALUES ($1)", needed[0].number)
                oldest = str(needed[0].oldest_server).encode()
                await connection.execute("DELETE FROM instance WHERE name = $1", migrations.OLDEST_SERVER)
                await connection.execute(
                    "INSERT INTO instance (name, value) VALUES ($1, $2)", migrations.OLDEST_SERVER, oldest
                )
            has_changed = True


async def distribute_postgres(url: str, *, connect_timeout_s: float) -> bool:
    """Distribute the tables of a migrated database over the nodes of its Citus cluster, in one transaction. Returns
    False if they are distributed already.

    Raises Unavailable and NotDistributable.
    """
    async with _connection(url, connect_timeout_s) as connection, connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATION_LOCK, timeout=None)
        if await is_distributed(connection):
            return False
        await distribute_tables(connection)
        return True


async def pending_on_postgres(
    url: str, steps: tuple[migrations.Migration, ...], *, connect_timeout_s: float
) -> tuple[migrations.Migration, ...]:
    """The migrations that the database needs. Changes nothing. Raises Unavailable and SchemaTooNew."""
    async with _connection(url, connect_timeout_s) as connection:
        return await _pending(steps, connection)


async def _pending(steps: tuple[migrations.Migration, ...], connection: Any) -> tuple[migrations.Migration, ...]:
    if not await connection.fetchval("SELECT to_regclass('schema_version') IS NOT NULL"):
        return steps
    version = int(await connection.fetchval("SELECT version FROM schema_version") or 0)
    oldest = await connection.fetchval("SELECT value FROM instance WHERE name = $1", migrations.OLDEST_SERVER)
    return migrations.pending(steps, version, oldest)


@contextlib.asynccontextmanager
async def _connection(url: str, timeout_s: float) -> AsyncIterator[Any]:
    try:
        connection = await connect(url, timeout_s)
        try:
            yield connection
        finally:
            await connection.close()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise error_for_caller(error) from error
