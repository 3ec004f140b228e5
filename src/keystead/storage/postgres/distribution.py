"""Distributes the tables over the nodes of a Citus cluster.

Here: the declaration for each table, and the statements that carry it out, inside a transaction of `schema`. Not
here: how commits share transactions there (`commit_queues`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from keystead.api.errors import ServiceError
from keystead.organizations.contacts.used_tokens import UsedToken
from keystead.storage.tables import TABLES

DISTRIBUTION: Final = "distribution"
"""The instance value that says which engine distributes the tables. Plain PostgreSQL has no such value."""

CITUS: Final = b"citus"

_ORGANIZATION_COLUMN: Final = "organization_id"

_ROOT: Final = "organization"
"""The tables of an organization have their rows on the node that has its row of this table."""

COLUMNS: Final[Mapping[str, str | None]] = {
    _ROOT: "id",
    **{table.name: _ORGANIZATION_COLUMN for table in TABLES if table.key[0] == _ORGANIZATION_COLUMN},
    # Rows of these are looked up, and unique, across organizations.
    "lookup": "value",
    UsedToken.table.name: "id",
    # These belong to no organization, are small, and are read by every session.
    "instance": None,
    "process": None,
    "schema_version": None,
}
"""The column by whose value the rows of each table are distributed. None: every node has the whole table."""

SETTINGS: Final = (
    # One connection to a node for each transaction. With more, a commit over several of them is a two-phase commit
    # with a part for each connection, and a table that every node has cannot be written after others were.
    "citus.multi_shard_modify_mode = 'sequential'",
    "citus.max_adaptive_executor_pool_size = 1",
)
"""The settings of every session of a distributed database."""


def distribution_statement(table: str) -> str:
    """The statement that distributes a table. Raises KeyError for a table without a declaration."""
    column = COLUMNS[table]
    if column is None:
        return f"SELECT create_reference_table('{table}')"
    if table == _ROOT:
        return f"SELECT create_distributed_table('{table}', '{column}', colocate_with => 'none')"
    colocated_with = _ROOT if column == _ORGANIZATION_COLUMN else "none"
    return f"SELECT create_distributed_table('{table}', '{column}', colocate_with => '{colocated_with}')"


def in_distribution_order(tables: frozenset[str]) -> list[str]:
    """The tables in the order of distribution: first the table with which the others are colocated."""
    return [table for table in COLUMNS if table in tables]


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
