"""The statements that write: many rows of a table at once, and what it means where a row was already there.

Here: inserts for both databases, the compare-and-swap of versions. Not here: the transaction around them
(`sqlite_writer`, `postgres_committer`).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text, bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

from keystead.activities.store import CommitOutcome
from keystead.storage.dialects import Dialect, PostgresDialect, SqliteDialect, Statement
from keystead.storage.tables import (
    activity,
    instance,
    interface_text,
    lookup,
    organization,
    record,
    sealed_secret,
    vote,
    wallet_account,
)


class IfThere(Enum):
    """What to do about a row whose key is there already."""

    SKIP = "skip"
    REPLACE = "replace"
    FAIL = "fail"


# In the order of writing: what can be skipped comes first, so that little is undone.
_TABLES: tuple[tuple[Table, IfThere], ...] = (
    (instance, IfThere.SKIP),
    (organization, IfThere.SKIP),
    (activity, IfThere.SKIP),
    (vote, IfThere.FAIL),
    (record, IfThere.REPLACE),
    (interface_text, IfThere.REPLACE),
    (wallet_account, IfThere.FAIL),
    (sealed_secret, IfThere.FAIL),
    (lookup, IfThere.SKIP),
)

IF_SKIPPED: dict[str, CommitOutcome] = {
    instance.name: CommitOutcome.CONFLICT,
    organization.name: CommitOutcome.CONFLICT,
    activity.name: CommitOutcome.DUPLICATE,
}
"""What a commit comes to if a row of this table was there already. A look-up that was there is no matter."""

SQLITE_ROWS_AT_ONCE = (16, 4, 1)
"""How many rows one SQLite statement inserts: each execution gives up the interpreter lock and must get it back."""


def move(dialect: Dialect) -> Statement:
    """The compare-and-swap of an organization's version: one row where it held, else none."""
    return dialect.compile(
        update(organization)
        .where(
            organization.c.id == bindparam("organization_id"),
            organization.c.version == bindparam("before_number"),
            organization.c.changed_by == bindparam("before_changed_by"),
        )
        .values(version=bindparam("after_number"), changed_by=bindparam("after_changed_by"))
    )


def locked_versions(dialect: Dialect) -> Statement:
    """The newest versions of the organizations listed as `ids`, locked until the transaction ends."""
    return dialect.compile(
        select(organization.c.id, organization.c.version, organization.c.changed_by)
        .where(dialect.is_among(organization.c.id, "ids"))
        .order_by(organization.c.id)
        .with_for_update()
    )


def deletes(dialect: Dialect) -> dict[str, str]:
    """By table, for those of which rows are taken away. Parameters: the row's key."""
    return {
        table.name: dialect.compile(
            delete(table).where(*[column == bindparam(column.name) for column in table.primary_key.columns])
        ).sql
        for table in (interface_text, lookup)
    }


def sqlite_inserts(dialect: SqliteDialect) -> dict[str, dict[int, str]]:
    """By table, in the order of writing, and by number of rows. Parameters: the rows' values one after another."""
    return {
        table.name: {
            count: dialect.compile(
                _if_there(
                    sqlite.insert(table).values(
                        [{c.name: bindparam(f"{c.name}_{row}") for c in table.c} for row in range(count)]
                    ),
                    table,
                    if_there,
                )
            ).sql
            for count in SQLITE_ROWS_AT_ONCE
        }
        for table, if_there in _TABLES
    }


def postgres_inserts(dialect: PostgresDialect) -> dict[str, str]:
    """By table, in the order of writing. Parameters: one array per column."""
    return {
        table.name: dialect.compile(
            _if_there(
                postgresql.insert(table).from_select(
                    [c.name for c in table.c],
                    select(*[func.unnest(bindparam(c.name, type_=postgresql.ARRAY(_plain(c)))) for c in table.c]),
                ),
                table,
                if_there,
            )
        ).sql
        for table, if_there in _TABLES
    }


def _if_there(insert: Any, table: Table, if_there: IfThere) -> Any:
    match if_there:
        case IfThere.SKIP:
            return insert.on_conflict_do_nothing()
        case IfThere.REPLACE:
            others = [c.name for c in table.c if not c.primary_key]
            return insert.on_conflict_do_update(
                index_elements=list(table.primary_key.columns),
                set_={name: insert.excluded[name] for name in others},
            )
        case IfThere.FAIL:
            return insert


def _plain(column: Column[Any]) -> TypeEngine[Any]:
    """The column's type without its collation, which an array's element cannot have."""
    if isinstance(column.type, (BigInteger, LargeBinary)):
        return column.type
    return Text()
