"""The tables that commits write, and the statements that insert into them and delete from them.

Here: names, columns in order, keys, and what an insert does if the key exists already. Not here: creating the
tables (`sql/*/0001_first_tables.sql`), all other statements (`sql`), what the rows hold (`rows`).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from enum import Enum
from typing import Final, assert_never

import msgspec

from keystead.organizations.attached_rows import EXPIRY, AttachedTable
from keystead.organizations.attachments import ATTACHED_TABLES
from keystead.pipeline.store import CommitResult


class IfPresent(Enum):
    """What an insert does if a row of the same key exists."""

    SKIP = "skip"
    REPLACE = "replace"
    FAIL = "fail"


class Reference(msgspec.Struct, frozen=True):
    """Each row of a table needs a row of another one: where the columns `to` have the values of `columns`.

    `unless_empty`: a column of the row; if it is empty, nothing is needed. "" for none.
    """

    columns: tuple[str, ...]
    table: str
    to: tuple[str, ...]
    unless_empty: str = ""

    @property
    def name(self) -> str:
        """What is missing without such a row."""
        return f"{self.table} of its {self.columns[-1]}"


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table that commits write.

    `columns`: all columns in order, with their types: str, int, bool or bytes. The first `key_length` columns are
    the primary key. `is_merged`: if several commits share a transaction, only the last row of each key is written.
    `has_revision`: rows are changed by compare-and-swap of the column `revision`, the first after the key.
    `if_skipped`: the result of a commit whose row a unique index skips; None if the row need not be written.
    `is_deleted_with_organization`: False for the tables whose rows stay. `is_deleted_at_once`: rows are deleted in
    the transaction that deletes their organization, not afterwards in steps. `expires`: a purge deletes the rows
    whose time has passed. `is_attached`: it has the rows of an `AttachedTable`. `needs`: what its rows need beside
    the rows that the names of its columns say (`references_of`), except those of the columns in `may_lack`.
    """

    name: str
    columns: tuple[tuple[str, type], ...]
    key_length: int
    if_present: IfPresent
    is_merged: bool = False
    has_revision: bool = False
    if_skipped: CommitResult | None = None
    is_deleted_with_organization: bool = False
    is_deleted_at_once: bool = False
    expires: bool = False
    is_attached: bool = False
    needs: tuple[Reference, ...] = ()
    may_lack: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    @property
    def key(self) -> tuple[str, ...]:
        return self.names[: self.key_length]


def _columns(**types: type) -> tuple[tuple[str, type], ...]:
    return tuple(types.items())


@functools.cache
def table_of(table: AttachedTable) -> Table:
    """The table of attached rows that follows from its declaration."""
    # If two commits insert a row of the same key, the second row is skipped, and its commit fails.
    if_present = IfPresent.REPLACE if table.is_replaced else IfPresent.FAIL
    return Table(
        name=table.name,
        columns=(("organization_id", str), *table.key, *table.columns),
        key_length=1 + len(table.key),
        if_present=IfPresent.SKIP if table.has_revision else if_present,
        is_merged=not table.has_revision,
        has_revision=table.has_revision,
        if_skipped=CommitResult.CONFLICT if table.has_revision else None,
        is_deleted_with_organization=not table.outlives_organization,
        is_deleted_at_once=table.is_deleted_at_once,
        expires=table.expires,
        is_attached=True,
    )


_OWN_TABLES = (
    Table(
        name="instance",
        columns=_columns(name=str, value=bytes),
        key_length=1,
        if_present=IfPresent.SKIP,
        if_skipped=CommitResult.CONFLICT,
    ),
    Table(
        name="process",
        columns=_columns(id=str, expires_at_ms=int, body=bytes),
        key_length=1,
        if_present=IfPresent.REPLACE,
        is_merged=True,
        expires=True,
    ),
    Table(
        name="organization",
        columns=_columns(id=str, parent_id=str, version=int, changed_by=str, record_count=int, counted_version=int),
        key_length=1,
        if_present=IfPresent.SKIP,
        if_skipped=CommitResult.CONFLICT,
    ),
    Table(
        name="activity",
        columns=_columns(
            organization_id=str,
            id=str,
            fingerprint=str,
            type=str,
            submitter_id=str,
            created_at_ms=int,
            request=bytes,
            status=str,
            result=bytes,
            app_proofs=bytes,
            failure=bytes,
            proofs=bytes,
            approvals_since_ms=int,
            revision=int,
            updated_at_ms=int,
        ),
        key_length=2,
        if_present=IfPresent.SKIP,
        if_skipped=CommitResult.DUPLICATE,
        needs=(
            # Nobody submits the activities of the operator.
            Reference(
                ("organization_id", "id", "submitter_id"),
                "vote",
                ("organization_id", "activity_id", "user_id"),
                unless_empty="submitter_id",
            ),
            Reference(("organization_id", "id"), "policy_evaluation", ("organization_id", "activity_id")),
        ),
    ),
    Table(
        name="snapshot",
        columns=_columns(organization_id=str, digest=bytes, body=bytes),
        key_length=2,
        if_present=IfPresent.SKIP,
        is_merged=True,
    ),
    Table(
        name="vote",
        columns=_columns(
            organization_id=str,
            activity_id=str,
            user_id=str,
            id=str,
            selection=str,
            message=bytes,
            public_key=str,
            signature=str,
            scheme=str,
            created_at_ms=int,
            user_digest=bytes,
        ),
        key_length=3,
        if_present=IfPresent.REPLACE,
        needs=(
            Reference(
                ("organization_id", "activity_id", "id"),
                "policy_evaluation",
                ("organization_id", "activity_id", "vote_id"),
            ),
        ),
    ),
    Table(
        name="policy_evaluation",
        columns=_columns(
            organization_id=str, activity_id=str, id=str, vote_id=str, created_at_ms=int, findings_digest=bytes
        ),
        key_length=3,
        if_present=IfPresent.FAIL,
        may_lack=frozenset({"activity_id"}),  # a refused submission leaves none
    ),
    Table(
        name="record",
        columns=_columns(organization_id=str, kind=str, id=str, version=int, body=bytes),
        key_length=3,
        if_present=IfPresent.REPLACE,
        is_merged=True,
    ),
    Table(
        name="unfinished_deletion",
        columns=_columns(organization_id=str, wallet_id=str),
        key_length=2,
        if_present=IfPresent.SKIP,
        is_merged=True,
    ),
)

_LOOKUP = Table(
    name="lookup",
    columns=_columns(kind=str, value=str, parent_id=str, organization_id=str, holder_id=str, is_exclusive=bool),
    key_length=5,
    if_present=IfPresent.SKIP,
    is_merged=True,
    if_skipped=CommitResult.CREDENTIAL_HELD,
    is_deleted_with_organization=True,
)


@functools.cache
def tables_of(attached: tuple[AttachedTable, ...]) -> tuple[Table, ...]:
    """All tables that commits write, in the order in which a transaction writes them.

    Tables whose rows may be skipped come first, so that a rollback has little to undo.
    """
    return (*_OWN_TABLES, *map(table_of, attached), _LOOKUP)


def merged_key_lengths(tables: tuple[Table, ...]) -> dict[str, int]:
    """The lengths of the keys of the tables that are merged, by name."""
    return {table.name: table.key_length for table in tables if table.is_merged}


TABLES = tables_of(ATTACHED_TABLES)
"""The tables of the record kinds of this version."""

_REFERENCES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "activity_id": ("activity", ("organization_id", "id")),
    "user_digest": ("snapshot", ("organization_id", "digest")),
    "findings_digest": ("snapshot", ("organization_id", "digest")),
}
"""By column of any table: the table that has a row for each of its values, and the columns there."""


def references_of(table: Table) -> tuple[Reference, ...]:
    """What each row of a table needs besides the row of its organization."""
    by_name = (
        Reference(("organization_id", name), *_REFERENCES[name])
        for name in table.names
        if name in _REFERENCES and name not in table.may_lack
    )
    return (*by_name, *table.needs)


def is_of_organizations(table: Table) -> bool:
    """Whether each row of the table belongs to an organization, which must be on record."""
    return "organization_id" in table.names


EXPIRING = tuple(table for table in TABLES if table.expires)
"""Tables whose rows are purged after they have expired."""


def sqlite_insert(table: Table, rows: int) -> str:
    """The statement that inserts this number of rows. Parameters: the values of the rows, one after another."""
    values = f"({', '.join('?' * len(table.columns))})"
    return insert_of(table, f"VALUES {', '.join([values] * rows)}")


@functools.cache
def distributed_insert(table: Table, rows: int) -> str:
    """The statement that inserts this number of rows into a distributed table. Parameters: the values of the rows,
    one after another.

    Citus finds the node of each row by its values. It would first collect the rows of a subquery, which takes much
    longer.
    """
    numbers = itertools.count(1)
    values = [f"({', '.join(f'${next(numbers)}' for _ in table.columns)})" for _ in range(rows)]
    return insert_of(table, f"VALUES {', '.join(values)}")


def insert_of(table: Table, rows: str) -> str:
    """The statement that inserts these rows: a list of values, or a query."""
    columns = ", ".join(table.names)
    return f"INSERT INTO {table.name} ({columns}) {rows}{_on_conflict(table)}"


def _on_conflict(table: Table) -> str:
    match table.if_present:
        case IfPresent.SKIP:
            return " ON CONFLICT DO NOTHING"
        case IfPresent.REPLACE:
            replaced = ", ".join(f"{name} = excluded.{name}" for name in table.names[table.key_length :])
            return f" ON CONFLICT ({', '.join(table.key)}) DO UPDATE SET {replaced}"
        case IfPresent.FAIL:
            return ""
        case _:
            assert_never(table.if_present)


def attached_row(table: Table) -> str:
    """The statement that reads an attached row, as `AttachedRow.from_row` takes it. Parameters: the columns of its
    key, named."""
    key = " AND ".join(f"{name} = :{name}" for name in table.key)
    return f"SELECT {', '.join(table.names[1:])} FROM {table.name} WHERE {key}"  # noqa: S608


def row_swap(table: Table) -> str:
    """The statement that replaces the previous revision of a row. Parameters: `rows.RowSwap`."""
    columns = ", ".join(f"{name} = :after_{name}" for name in table.names[table.key_length :])
    key = " AND ".join(f"{name} = :{name}" for name in table.key)
    return f"UPDATE {table.name} SET {columns} WHERE {key} AND revision = :before_revision"  # noqa: S608


def row_lock(table: Table) -> str:
    """The statement that reads and locks the rows of several swaps, in order of keys. Parameters: a list for each
    column of the key."""
    key = ", ".join(table.key)
    wanted = " AND ".join(f"{name} = ANY(:{name}s)" for name in table.key)
    return f"SELECT {key}, revision FROM {table.name} WHERE {wanted} ORDER BY {key} FOR UPDATE"  # noqa: S608


def expired_row(table: Table) -> str:
    """The statement that finds a row that expired before a moment. Parameter: `before_ms`."""
    return f"SELECT 1 FROM {table.name} WHERE {EXPIRY} < :before_ms LIMIT 1"  # noqa: S608


def expired_purge(table: Table, *, skips_locked: bool) -> str:
    """The statement that deletes some expired rows, the oldest first. Parameters: `before_ms`, `limit`.

    `skips_locked`: it skips rows that another transaction has locked, so it does not wait.
    """
    key = ", ".join(table.key)
    # PostgreSQL might run a locking subquery several times, and then delete more rows.
    once, lock = ("MATERIALIZED ", " FOR UPDATE SKIP LOCKED") if skips_locked else ("", "")
    first = f"SELECT {key} FROM {table.name} WHERE {EXPIRY} < :before_ms ORDER BY {EXPIRY} LIMIT :limit{lock}"  # noqa: S608
    expired = f"WITH expired AS {once}({first})"
    return f"{expired} DELETE FROM {table.name} WHERE ({key}) IN (SELECT {key} FROM expired)"  # noqa: S608


def deletion(table: Table) -> str:
    """The statement that deletes one row. Parameters: the columns of its key, named."""
    return f"DELETE FROM {table.name} WHERE {' AND '.join(f'{name} = :{name}' for name in table.key)}"  # noqa: S608


def deletion_of_organization(table: Table) -> str:
    """The statement that deletes all rows of an organization. Parameter: `organization_id`."""
    return f"DELETE FROM {table.name} WHERE organization_id = :organization_id"  # noqa: S608


def row_of_organization(table: Table) -> str:
    """The statement that finds a row of an organization. Parameter: `organization_id`."""
    return f"SELECT 1 FROM {table.name} WHERE organization_id = :organization_id LIMIT 1"  # noqa: S608


def organizations_with_rows(table: Table, *, is_distributed: bool) -> str:
    """The statement that reads ids of organizations that have rows in a table, in order. Parameters: `cursor`,
    `limit`.

    It jumps from one organization to the next, so it does not read all rows of each. Citus runs no such query over
    several nodes.
    """
    name = table.name
    if is_distributed:
        return (
            f"SELECT DISTINCT organization_id FROM {name} WHERE organization_id > :cursor "  # noqa: S608
            "ORDER BY organization_id LIMIT :limit"
        )
    following = f"SELECT min({name}.organization_id) FROM {name} WHERE {name}.organization_id > held.id"  # noqa: S608
    return (
        f"WITH RECURSIVE held (id) AS (SELECT min(organization_id) FROM {name} WHERE organization_id > :cursor "  # noqa: S608
        f"UNION ALL SELECT ({following}) FROM held WHERE held.id IS NOT NULL) "
        "SELECT id FROM held WHERE id IS NOT NULL LIMIT :limit"
    )


def rows_above(table: Table) -> str:
    """The statement that reads some rows of an organization in order of their keys, without its id. Parameters:
    `organization_id`, `above_…` for each other column of the key, `limit`."""
    return f"SELECT {', '.join(table.names[1:])} FROM {table.name} {_above(table)}"  # noqa: S608


def references_above(table: Table) -> str:
    """The statement that reads the keys of some rows of an organization, in order, each with a truth value for each
    of `references_of`. Parameters: those of `rows_above`."""
    found = ", ".join(_is_found(table, reference) for reference in references_of(table))
    return f"SELECT {', '.join(table.key[1:])}, {found} FROM {table.name} {_above(table)}"  # noqa: S608


def _above(table: Table) -> str:
    key = [f"{table.name}.{name}" for name in table.key[1:]]
    above = ", ".join(f":above_{name}" for name in table.key[1:])
    return (
        f"WHERE {table.name}.organization_id = :organization_id AND ({', '.join(key)}) > ({above}) "
        f"ORDER BY {', '.join(key)} LIMIT :limit"
    )


def _is_found(table: Table, reference: Reference) -> str:
    pairs = zip(reference.to, reference.columns, strict=True)
    same = " AND ".join(f"needed.{to} = {table.name}.{column}" for to, column in pairs)
    exists = f"EXISTS (SELECT 1 FROM {reference.table} AS needed WHERE {same})"  # noqa: S608
    return f"({table.name}.{reference.unless_empty} = '' OR {exists})" if reference.unless_empty else exists


def organization_purge(table: Table) -> str:
    """The statement that deletes some rows of an organization. Parameters: `organization_id`, `limit`."""
    of_organization = "organization_id = :organization_id"
    key = ", ".join(table.key)
    first = f"SELECT {key} FROM {table.name} WHERE {of_organization} ORDER BY {key} LIMIT :limit"  # noqa: S608
    return f"DELETE FROM {table.name} WHERE {of_organization} AND ({key}) IN ({first})"  # noqa: S608
