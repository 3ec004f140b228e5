"""How the tables are distributed over the nodes of a Citus cluster.

Here: the declaration for each table, and the statements that carry it out. Not here: when they run
(`postgres_schema`), how commits share transactions there (`distributed_commits`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from keystead.organizations.used_tokens import UsedToken
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
