"""Every SQL statement in the form for the driver of its database.

Here: reading the files of the folder `sql`, and the form of their parameters. Not here: the SQL (`sql`, `tables`),
running it (`sqlite`, `postgres`), what rows hold (`rows`, `row_decoding`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, assert_never, get_type_hints

import msgspec

from keystead.storage.rows import EntryPurge, ExpiredPurge, OrganizationPurge, Purge, TombstonePurge
from keystead.storage.tables import (
    TABLES,
    Table,
    attached_row,
    deletion,
    deletion_of_organization,
    expired_purge,
    expired_row,
    is_of_organizations,
    organization_purge,
    organizations_with_rows,
    references_above,
    references_of,
    row_lock,
    row_of_organization,
    row_swap,
    rows_above,
    sqlite_insert,
)

Dialect = Literal["sqlite", "postgresql"]

SQL = Path(__file__).parent / "sql"
"""The folder of the statements and the migrations."""

SQLITE_ROWS_AT_ONCE = (4, 1)
"""How many rows one SQLite statement inserts. Each execution releases the interpreter lock and must take it again,
so several rows are faster than one. More than four were measured to be slower."""

_OF_ACTIVITIES = (
    "activity",
    "activity_with_fingerprint",
    "activities",
    "activities_by_status",
    "activities_by_type_and_status",
)
"""The reads whose statements select ids of activities, and are completed by the statement `activities_of_page`."""

_PARAMETER = re.compile(r"(?<![:\w]):([a-z]\w*)")


class Statement(msgspec.Struct, frozen=True):
    """A statement. `names` are its parameters in the driver's order."""

    sql: str
    names: tuple[str, ...] = ()

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """The parameters in the driver's order."""
        return list(map(values.__getitem__, self.names))


class Pages(msgspec.Struct, frozen=True):
    """A statement for the ids below the cursor, and one for those above. Ids are in order of creation."""

    below: Statement
    above: Statement


class Reads(msgspec.Struct, frozen=True, kw_only=True):
    """The statements that read. `version` runs before every use of an organization; its one parameter is `id`.
    `attached_rows`, `expired_rows`, `rows_of_organization`, `organizations_with_rows`, `rows_above` and
    `references_above` are by table."""

    version: Statement
    versions: Statement
    whole: Statement
    changed_since: Statement
    activity: Statement
    activity_with_fingerprint: Statement
    has_activity: Statement
    activities: Pages
    activities_by_status: Pages
    activities_by_type_and_status: Pages
    activity_counts: Statement
    evaluations: Statement
    interface_texts: Statement
    interface_texts_of: Statement
    accounts_with_address: Statement
    accounts_at: Statement
    accounts_called: Statement
    accounts_of_ids: Statement
    attached_rows: dict[str, Statement]
    has_account: Statement
    has_account_of_wallet: Statement
    accounts: Pages
    accounts_of_wallet: Pages
    has_suborganization: Statement
    held_by_siblings: Statement
    suborganizations: Pages
    suborganizations_with_value: Pages
    organizations_with_value: Statement
    data_keys_above: Statement
    organizations_above: Statement
    organizations_with_rows: dict[str, Statement]
    rows_above: dict[str, Statement]
    references_above: dict[str, Statement]
    activities_without_newest_vote: Statement
    stored_versions: Statement
    lookups_of: Statement
    unfinished_deletions: Statement
    unfinished_deletions_of: Statement
    first_accounts: Statement
    first_accounts_of_wallet: Statement
    first_lookups: Statement
    newest_purgeable_tombstone: Statement
    rows_of_organization: dict[str, Statement]
    instance_value: Statement
    schema_version: Statement
    processes: Statement
    organization_count: Statement
    database_facts: Statement
    schema_objects: Statement
    used_token: Statement
    due_messages: Statement
    due_message_count: Statement
    oldest_due_message: Statement
    finished_messages: Statement
    expired_rows: dict[str, Statement]
    waiting_endpoints: Statement
    waiting_deliveries: Statement
    waiting_delivery_count: Statement
    released_webhook_leases: Statement
    has_email_event: Statement
    email_events: Pages
    counters: Statement
    counter_with_old_entries: Statement
    refused_requests: Statement
    refused_request_counts: Statement


class SwapStatements(msgspec.Struct, frozen=True):
    """A compare-and-swap: `update` changes one row, or none if the row has changed.

    `locked` reads the rows of several swaps and locks them until the transaction ends, in order of keys. Its
    arguments are one list for each column of the key.
    """

    update: Statement
    locked: Statement


class Statements(msgspec.Struct, frozen=True, kw_only=True):
    """The statements that both databases have in the same form, and the tables in the order of writing.

    - `deletions`, by table, delete one row. Their parameters are the columns of its key.
    - `delete_organization` deletes the rows that must be deleted in the transaction that deletes an organization.
      The parameter of each statement is the organization's id.
    - `expired_purges`, `organization_purges`, both by table, `tombstone_purge` and `entry_purge`: the statements of
      the values of these names in `rows`.
    """

    tables: tuple[Table, ...]
    reads: Reads
    deletions: dict[str, str]
    delete_organization: tuple[str, ...]
    expired_purges: dict[str, Statement]
    organization_purges: dict[str, Statement]
    tombstone_purge: tuple[Statement, ...]
    entry_purge: Statement

    def of_purge(self, purge: Purge) -> tuple[Statement, ...]:
        """The statements of a purge, in order."""
        match purge:
            case ExpiredPurge(table):
                return (self.expired_purges[table],)
            case OrganizationPurge(table):
                return (self.organization_purges[table],)
            case TombstonePurge():
                return self.tombstone_purge
            case EntryPurge():
                return (self.entry_purge,)
            case _:
                assert_never(purge)


class SqliteStatements(Statements, frozen=True, kw_only=True):
    """`swaps`, by table: the updates of the swaps in `rows`. Each changes one row, or none.

    `inserts` are by table, in the order of writing, and by number of rows, largest first, down to one; they take
    the rows' values one after another.
    """

    swaps: dict[str, Statement]
    inserts: dict[str, dict[int, str]]


class PostgresStatements(Statements, frozen=True, kw_only=True):
    """`swaps`, by table: the statements of the swaps in `rows`.

    `lock_organization` locks a row. `lock_and_read` locks it, then gives the same as `changed_since`; not for
    distributed tables. `check_versions` gives the versions of organizations and keeps them as they are until the
    transaction ends. `lock_counters` locks counters of an organization and returns their ids;
    `insert_counter` adds one that is not there yet. Inserts: `postgres.transactions`.

    `is_distributed`: for tables that are distributed over several nodes. A statement that locks rows takes those of
    one organization there.
    """

    swaps: dict[str, SwapStatements]
    lock_organization: Statement
    lock_and_read: Statement
    check_versions: Statement
    lock_counters: Statement
    insert_counter: Statement
    is_distributed: bool


@cache  # a process may open several databases, as tests and commands do
def sqlite_statements(tables: tuple[Table, ...] = TABLES) -> SqliteStatements:
    """The statements of a store with these tables. Raises ValueError if a statement is missing or unused."""
    named = _NamedStatements("sqlite")
    statements = SqliteStatements(
        tables=tables,
        reads=_reads(named, tables, "sqlite"),
        deletions=_deletions(tables, "sqlite"),
        delete_organization=_delete_organization(named, tables, "sqlite"),
        expired_purges=_expired_purges(tables, "sqlite", skips_locked=False),
        organization_purges=_of_organizations(organization_purge, tables, "sqlite"),
        tombstone_purge=(named.take("record_purged_tombstones"), named.take("purge_tombstones")),
        entry_purge=named.take("purge_entries"),
        swaps={
            "organization": named.take("swap_version"),
            "activity": named.take("swap_activity"),
            "instance": named.take("swap_instance_value"),
            **{table.name: compile_statement(row_swap(table), "sqlite") for table in tables if table.has_revision},
        },
        inserts={
            table.name: {rows: sqlite_insert(table, rows) for rows in SQLITE_ROWS_AT_ONCE} for table in tables
        },
    )
    named.check_all_taken()
    return statements


@cache
def postgres_statements(tables: tuple[Table, ...] = TABLES, *, is_distributed: bool = False) -> PostgresStatements:
    """The statements of a store with these tables. Raises ValueError if a statement is missing or unused."""
    named = _NamedStatements("postgresql")
    if is_distributed:
        named.replace(SQL / "citus" / "statements.sql")
    statements = PostgresStatements(
        tables=tables,
        reads=_reads(named, tables, "postgresql", is_distributed=is_distributed),
        deletions=_deletions(tables, "postgresql"),
        delete_organization=_delete_organization(named, tables, "postgresql"),
        # A statement over several nodes cannot lock what it reads.
        expired_purges=_expired_purges(tables, "postgresql", skips_locked=not is_distributed),
        organization_purges=_of_organizations(organization_purge, tables, "postgresql"),
        tombstone_purge=(named.take("record_purged_tombstones"), named.take("purge_tombstones")),
        entry_purge=named.take("purge_entries"),
        swaps={
            "organization": SwapStatements(named.take("swap_version"), named.take("lock_organizations")),
            "activity": SwapStatements(named.take("swap_activity"), named.take("lock_activities")),
            "instance": SwapStatements(named.take("swap_instance_value"), named.take("lock_instance_values")),
            **{
                table.name: SwapStatements(
                    compile_statement(row_swap(table), "postgresql"),
                    compile_statement(row_lock(table), "postgresql"),
                )
                for table in tables
                if table.has_revision
            },
        },
        lock_organization=named.take("lock_organization"),
        lock_and_read=named.take("lock_and_read"),
        check_versions=named.take("check_versions"),
        lock_counters=named.take("lock_counters"),
        insert_counter=named.take("insert_counter"),
        is_distributed=is_distributed,
    )
    named.check_all_taken()
    return statements


class _NamedStatements:
    """The statements of a dialect's files, by name."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        files = (SQL / "statements.sql", SQL / dialect / "statements.sql")
        self._sql: dict[str, str] = {}
        self._taken: set[str] = set()
        for file in files:
            for name, sql in parse(file.read_text()).items():
                if name in self._sql:
                    raise ValueError(f"{file}: statement {name} exists already")
                self._sql[name] = sql

    def replace(self, file: Path) -> None:
        """Take the statements of this file in place of those of the same names."""
        for name, sql in parse(file.read_text()).items():
            if name not in self._sql:
                raise ValueError(f"{file}: there is no statement {name} to replace")
            self._sql[name] = sql

    def take(self, name: str) -> Statement:
        return compile_statement(self._take(name), self._dialect)

    def take_activities(self, name: str) -> Statement:
        """The statement that reads the activities of the ids that the statement of this name selects."""
        ids, activities = self._take(name), self._take("activities_of_page")
        return compile_statement(f"WITH page AS ({ids}) {activities}", self._dialect)

    def _take(self, name: str) -> str:
        if name not in self._sql:
            raise ValueError(f"the files of {SQL} have no statement {name} for {self._dialect}")
        self._taken.add(name)
        return self._sql[name]

    def check_all_taken(self) -> None:
        if unused := sorted(self._sql.keys() - self._taken):
            raise ValueError(f"statement {unused[0]} in {SQL} is not used")


def parse(text: str) -> dict[str, str]:
    """The statements of a file by name, without comments. Each begins with a line `-- name: NAME`."""
    _, *sections = re.split(r"^-- name: (\w+)$", text, flags=re.MULTILINE)
    names, bodies = sections[::2], sections[1::2]
    if len(set(names)) != len(names):
        raise ValueError("a name is used for two statements of one file")
    lines = ([line for line in body.splitlines() if not line.lstrip().startswith("--")] for body in bodies)
    return {name: "\n".join(kept).strip().removesuffix(";") for name, kept in zip(names, lines, strict=True)}


def compile_statement(sql: str, dialect: Dialect) -> Statement:
    """The statement with the driver's placeholders in place of `:name`: `?` for SQLite, `$1` for PostgreSQL."""
    names = _PARAMETER.findall(sql)
    if dialect == "sqlite":
        return Statement(_PARAMETER.sub("?", sql), tuple(names))
    numbered = {name: number for number, name in enumerate(dict.fromkeys(names), 1)}
    return Statement(_PARAMETER.sub(lambda match: f"${numbered[match[1]]}", sql), tuple(numbered))


def _reads(
    named: _NamedStatements, tables: tuple[Table, ...], dialect: Dialect, *, is_distributed: bool = False
) -> Reads:
    values: dict[str, Statement | Pages | dict[str, Statement]] = {
        name: {table.name: compile_statement(sql_of(table), dialect) for table in of_tables}
        for name, (sql_of, of_tables) in _by_table(tables, is_distributed=is_distributed).items()
    }
    for name, kind in get_type_hints(Reads).items():
        if name not in values:
            take = named.take_activities if name in _OF_ACTIVITIES else named.take
            is_paged = kind is Pages
            values[name] = Pages(take(f"{name}_below"), take(f"{name}_above")) if is_paged else take(name)
    return msgspec.convert(values, Reads)


def _by_table(
    tables: tuple[Table, ...], *, is_distributed: bool
) -> dict[str, tuple[Callable[[Table], str], Sequence[Table]]]:
    """The statements of `Reads` that follow from the declarations of tables: their SQL, and for which tables."""
    attached = [table for table in tables if table.is_attached]
    of_organizations = [table for table in tables if is_of_organizations(table)]
    return {
        "attached_rows": (attached_row, attached),
        "expired_rows": (expired_row, [table for table in tables if table.expires]),
        "rows_of_organization": (
            row_of_organization,
            [table for table in tables if table.is_deleted_with_organization],
        ),
        "organizations_with_rows": (
            partial(organizations_with_rows, is_distributed=is_distributed),
            of_organizations,
        ),
        "rows_above": (rows_above, attached),
        "references_above": (references_above, [table for table in tables if references_of(table)]),
    }


def _expired_purges(tables: tuple[Table, ...], dialect: Dialect, *, skips_locked: bool) -> dict[str, Statement]:
    expiring = [table for table in tables if table.expires]
    return {
        table.name: compile_statement(expired_purge(table, skips_locked=skips_locked), dialect)
        for table in expiring
    }


def _deletions(tables: tuple[Table, ...], dialect: Dialect) -> dict[str, str]:
    return {table.name: compile_statement(deletion(table), dialect).sql for table in tables if table.is_merged}


def _delete_organization(named: _NamedStatements, tables: tuple[Table, ...], dialect: Dialect) -> tuple[str, ...]:
    deleted = [table for table in tables if table.is_deleted_with_organization and table.is_deleted_at_once]
    deletions = [compile_statement(deletion_of_organization(table), dialect).sql for table in deleted]
    return (named.take("detach_organization").sql, named.take("delete_records").sql, *deletions)


def _of_organizations(
    sql_of: Callable[[Table], str], tables: tuple[Table, ...], dialect: Dialect
) -> dict[str, Statement]:
    deleted = [table for table in tables if table.is_deleted_with_organization]
    return {table.name: compile_statement(sql_of(table), dialect) for table in deleted}
