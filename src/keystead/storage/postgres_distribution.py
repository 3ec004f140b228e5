"""Distributes tables over the nodes of a Citus cluster, inside a transaction of `postgres_schema`.

Not here: which table goes where (`distribution`).
"""

from __future__ import annotations

import time
from typing import Any, Final

from keystead.api.errors import ServiceError
from keystead.storage.distribution import (
    CITUS,
    DISTRIBUTION,
    SETTINGS,
    distribution_statement,
    in_distribution_order,
)

_UNDISTRIBUTED: Final = """
SELECT relname FROM pg_class
WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = pg_class.oid)
"""


class NotDistributable(ServiceError):
    """The tables cannot be distributed: something is missing in the cluster, or servers use them."""


async def is_distributed(connection: Any) -> bool:
    """Whether the tables of a database with tables are distributed."""
    return bool(await connection.fetchval("SELECT 1 FROM instance WHERE name = $1", DISTRIBUTION))


async def distribute_tables(connection: Any) -> None:
    """Distribute every table with its rows, and record this in the database. Raises NotDistributable."""
    await _require_nodes(connection)
    now_ms = time.time_ns() // 1_000_000
    if await connection.fetchval("SELECT count(*) FROM process WHERE expires_at_ms > $1", now_ms):
        raise NotDistributable("servers use this database: stop them, wait a minute and try again")
    name = await connection.fetchval("SELECT quote_ident(current_database())")
    for setting in SETTINGS:
        await connection.execute(f"ALTER DATABASE {name} SET {setting}")
    await distribute_new_tables(connection)
    await connection.execute("INSERT INTO instance (name, value) VALUES ($1, $2)", DISTRIBUTION, CITUS)


async def distribute_new_tables(connection: Any) -> None:
    """Distribute the tables that are not distributed yet, such as those that a migration has just added."""
    for setting in SETTINGS:
        await connection.execute(f"SET LOCAL {setting}")
    undistributed = frozenset(name for (name,) in await connection.fetch(_UNDISTRIBUTED))
    for table in in_distribution_order(undistributed):
        await connection.execute(distribution_statement(table), timeout=None)


async def _require_nodes(connection: Any) -> None:
    if not await connection.fetchval("SELECT 1 FROM pg_extension WHERE extname = 'citus'"):
        raise NotDistributable(
            "the database has no extension citus: run CREATE EXTENSION citus in it on every node, "
            "then SELECT citus_add_node(…) on this one for each of the others"
        )
    if not await connection.fetchval("SELECT 1 FROM pg_dist_node WHERE isactive AND shouldhaveshards"):
        raise NotDistributable("the cluster has no node that takes rows: run SELECT citus_add_node(…) for each")
