"""Run migrations on PostgreSQL. Here: the lock and the transaction. Not here: the SQL of the steps (`schema`)."""

from __future__ import annotations

from collections.abc import Callable

import asyncpg

from keystead.storage.postgres_connections import connect, translated

_MIGRATION_LOCK = 0x6B657973
"""Which advisory lock a migration holds; any number that nobody else on the database uses."""


async def migrate_postgres(
    url: str, upgrade_sql: Callable[[str, str | None], str], *, connect_timeout_s: float
) -> bool:
    """All missing steps in one transaction; False if there were none. Raises Unavailable.

    `upgrade_sql` gives the SQL from a revision to the newest.
    """
    try:
        connection = await connect(url, connect_timeout_s, {})
        try:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATION_LOCK, timeout=None)
                revision = None
                if await connection.fetchval("SELECT to_regclass('alembic_version') IS NOT NULL"):
                    revision = await connection.fetchval("SELECT version_num FROM alembic_version")
                script = upgrade_sql("postgresql", revision)
                if script:
                    await connection.execute(script, timeout=None)
        finally:
            await connection.close()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise translated(error) from error
    return bool(script)
