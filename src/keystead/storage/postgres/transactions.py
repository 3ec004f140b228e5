"""One transaction on PostgreSQL: what it writes, and how it ends.

Here: the statements in their order. Not here: who begins a transaction (`postgres`), how commits are merged
(`rows`).

Why a commit is safe at READ COMMITTED:

- The compare-and-swap of an organization's version locks its row. Records and attachments are written only under
  that lock: after the compare-and-swap, or in its statement and only if it succeeds.
- A commit that does not change the organization locks the row in shared mode, after its other statements, so that
  the lock is short. No other transaction can then change the organization before this one is committed.
- Neither waits for a row that another transaction has locked (SKIP LOCKED). That transaction changes the
  organization, so this commit has lost the race. Therefore no two transactions wait for each other.
- The compare-and-swap of an activity's revision locks its row, in order of ids. Votes are written only under that.
- Fingerprints have a unique index. An insert waits until another insert of the same fingerprint is committed or
  rolled back. The same holds for credentials that only one sub-organization of a parent may have.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import asyncpg

from keystead.organizations.organization import Version
from keystead.organizations.velocity.counters import Counted
from keystead.pipeline.store import CommitResult
from keystead.storage import counting
from keystead.storage.rows import Row, Rows, Swap, VersionSwap, by_table
from keystead.storage.statements import PostgresStatements, Statement, SwapStatements
from keystead.storage.tables import Table, distributed_insert, insert_of

_LONGER_THAN_ANY_COMMIT_S: Final = 3_600.0

_ROWS_AT_ONCE: Final = (16, 4, 1)
"""How many rows one statement inserts on a distributed database: few, so that few statements are prepared."""


async def run_transaction(
    connection: Any, work: Callable[[], Awaitable[CommitResult]], *, begin: str, timeout_s: float
) -> CommitResult:
    """Run `work` in a transaction. If its result is COMMITTED, the transaction is committed, otherwise rolled
    back. `begin`: the statement that begins it. `timeout_s` bounds the commit."""
    await connection.execute(begin)
    result = None
    try:
        result = await work()
    finally:
        is_committed = result is CommitResult.COMMITTED
        await end_transaction(connection, is_committed=is_committed, timeout_s=timeout_s)
    return result


async def end_transaction(connection: Any, *, is_committed: bool, timeout_s: float) -> None:
    """Commit or roll back the transaction. `timeout_s` bounds the commit."""
    if is_committed:
        await _commit(connection, timeout_s)
    elif not connection.is_closed():
        await connection.execute("ROLLBACK")


async def lock_and_read(
    connection: Any, sql: PostgresStatements, organization_id: str, known_version: int | None
) -> Sequence[Sequence[Any]]:
    """Lock the organization's row in the transaction that has begun. Returns the rows of `changed_since` after the
    known version, as they are under the lock; no rows if the organization does not exist."""
    values, read = {"id": organization_id, "version": known_version}, sql.lock_and_read
    if sql.is_distributed:  # the function may be missing on some nodes
        await connection.execute(sql.lock_organization.sql, organization_id)
        read = sql.reads.changed_since
    selected: Sequence[Sequence[Any]] = await connection.fetch(read.sql, *read.arguments(values))
    return selected


async def _commit(connection: Any, timeout_s: float) -> None:
    """Commit, or close the connection after `timeout_s`.

    A commit that waits for a synchronous standby must not be cancelled, as the driver does with a statement that
    takes too long. PostgreSQL would then end the wait and make the transaction visible, although no standby has
    it. A repeated request would get the answer that it was done, and its result would be lost with this server.
    """
    give_up = asyncio.get_running_loop().call_later(timeout_s, connection.terminate)
    try:
        done = await connection.execute("COMMIT", timeout=_LONGER_THAN_ANY_COMMIT_S)
    finally:
        give_up.cancel()
    if done != "COMMIT":  # the answer belongs to another statement, so this connection cannot be used any more
        raise ConnectionResetError("the database answered a COMMIT with another command tag")


async def write(connection: Any, sql: PostgresStatements, rows: Rows) -> CommitResult:
    """Write rows inside a transaction. The caller must roll it back unless the result is COMMITTED."""
    try:
        return await _write(connection, sql, rows)
    except asyncpg.DeadlockDetectedError:  # the other transaction continues, this one may be repeated
        return CommitResult.CONFLICT


async def _write(connection: Any, sql: PostgresStatements, rows: Rows) -> CommitResult:
    result = await _swap_and_insert(connection, sql, rows)
    if result is not CommitResult.COMMITTED:
        return result
    for name, keys in by_table(rows.deleted).items():
        await connection.executemany(sql.deletions[name], keys)
    for purge in rows.purges:
        for statement in sql.of_purge(purge):
            await connection.execute(statement.sql, *statement.arguments(purge.parameters()))
    for organization_id in rows.deleted_organizations:
        for statement_text in sql.delete_organization:
            await connection.execute(statement_text, organization_id)
    if rows.version_checks and not await _versions_hold(connection, sql, dict(rows.version_checks)):
        return CommitResult.CONFLICT
    return CommitResult.COMMITTED


async def _swap_and_insert(connection: Any, sql: PostgresStatements, rows: Rows) -> CommitResult:
    """Swap and insert rows: in one statement, if no row is swapped but an organization's version.

    With more kinds of swaps in it, there would be more different statements than a connection keeps prepared.
    """
    counters = await _counters(connection, sql, rows.counted)
    if counters is None:
        return CommitResult.CONFLICT
    swaps_by_table, inserted_by_table = list(rows.swaps()), by_table([*rows.inserted, *counters])
    tables = tuple([table for table in sql.tables if table.name in inserted_by_table])
    version_swap = None
    if tables and not sql.is_distributed and len(swaps_by_table) == len(rows.version_swaps) == 1:
        (version_swap,), swaps_by_table = rows.version_swaps, []
    for table_name, swaps in swaps_by_table:
        for together in _lockable(sql, swaps):
            if not await _swap_rows(connection, sql.swaps[table_name], together):
                return CommitResult.CONFLICT
    inserted: Sequence[int] | None
    if sql.is_distributed:
        inserted = await _insert_by_table(connection, tables, inserted_by_table)
    else:
        update = sql.swaps["organization"].update
        inserted = await _insert_together(connection, tables, inserted_by_table, version_swap, update)
    if inserted is None:
        return CommitResult.CONFLICT
    for table, count in zip(tables, inserted, strict=True):
        if table.if_skipped is not None and count != len(inserted_by_table[table.name]):
            return table.if_skipped
    return CommitResult.COMMITTED


async def _insert_together(
    connection: Any,
    tables: tuple[Table, ...],
    rows: Mapping[str, Sequence[Row]],
    version_swap: VersionSwap | None,
    update: Statement,
) -> Sequence[int] | None:
    """Insert rows into these tables in one round trip. Returns how many were inserted into each.

    With `version_swap`, `update` first swaps the version. Returns None, and inserts nothing, if that fails.
    """
    if not tables:
        return []
    columns = [column for table in tables for column in zip(*rows[table.name], strict=True)]
    if version_swap is None:
        inserted: Sequence[int] = await connection.fetchrow(postgres_write(None, tables), *columns)
        return inserted
    arguments = update.arguments(version_swap.parameters())
    swapped, *inserted = await connection.fetchrow(postgres_write(update, tables), *arguments, *columns)
    return inserted if swapped == 1 else None


async def _insert_by_table(
    connection: Any, tables: tuple[Table, ...], rows: Mapping[str, Sequence[Row]]
) -> Sequence[int]:
    """Insert rows into distributed tables, with statements that contain the values. Returns how many were inserted
    into each table."""
    inserted = []
    for table in tables:
        count, left = 0, rows[table.name]
        while left:
            size = next(size for size in _ROWS_AT_ONCE if size <= len(left))
            values = itertools.chain.from_iterable(left[:size])
            count += _count(await connection.execute(distributed_insert(table, size), *values))
            left = left[size:]
        inserted.append(count)
    return inserted


async def _versions_hold(connection: Any, sql: PostgresStatements, checks: Mapping[str, Version]) -> bool:
    """Whether these organizations have these versions. If so, they cannot change until the transaction ends."""
    rows: list[Any] = []
    for ids in [[organization_id] for organization_id in sorted(checks)] if sql.is_distributed else [list(checks)]:
        rows += await connection.fetch(sql.check_versions.sql, ids)
    versions = {organization_id: Version(number, changed_by) for organization_id, number, changed_by in rows}
    return versions == checks


def _lockable(sql: PostgresStatements, swaps: Sequence[Swap]) -> Iterator[Sequence[Swap]]:
    """The swaps whose rows one statement can lock: those of one organization if the tables are distributed."""
    if not sql.is_distributed:
        if swaps:
            yield swaps
        return
    for _, together in itertools.groupby(swaps, key=lambda swap: swap.key()[0]):
        yield list(together)


async def _swap_rows(connection: Any, statements: SwapStatements, swaps: Sequence[Swap]) -> bool:
    arguments = [statements.update.arguments(swap.parameters()) for swap in swaps]
    if len(arguments) == 1:
        return _count(await connection.execute(statements.update.sql, *arguments[0])) == 1
    # Every process locks in order of ids, so that two transactions never wait for each other. The rows are
    # returned as they are when locked. Then the updates succeed, and take one round trip together.
    keys = zip(*[swap.key() for swap in swaps], strict=True)
    locked = {tuple(row) for row in await connection.fetch(statements.locked.sql, *map(list, keys))}
    if any(swap.expected() not in locked for swap in swaps):
        return False
    await connection.executemany(statements.update.sql, arguments)
    return True


async def _counters(
    connection: Any, sql: PostgresStatements, additions: Sequence[Counted]
) -> list[tuple[str, Row]] | None:
    """The rows of the counters after these additions. None if a decision relied on what does not hold.

    The counters are read by a statement of its own after they are locked: a statement that waits for a lock has its
    view of other rows from before.
    """
    lock, insert, read = sql.lock_counters, sql.insert_counter, sql.reads.counters
    rows: list[tuple[str, Row]] = []
    for organization_id, counted in counting.by_organization(additions):
        values = {
            "organization_id": organization_id,
            "ids": counting.counter_ids(counted),
            "now_ms": counting.newest_ms(counted),
        }
        locked = {row[0] for row in await connection.fetch(lock.sql, *lock.arguments(values))}
        windows = {each.counter_id: each.window_ms for each in counted if each.counter_id not in locked}
        if windows:
            new = [{"organization_id": organization_id, "id": id_, "window_ms": ms} for id_, ms in windows.items()]
            await connection.executemany(insert.sql, list(map(insert.arguments, new)))
            await connection.fetch(lock.sql, *lock.arguments(values))
        known = counting.states(await connection.fetch(read.sql, *read.arguments(values)))
        after = counting.rows_of_counters(organization_id, counted, known)
        if after is None:
            return None
        rows += after
    return rows


def _count(status: str) -> int:
    """How many rows a statement wrote, from its command tag: "UPDATE 1", "INSERT 0 3"."""
    return int(status.rpartition(" ")[2])


_ARRAYS = {str: "text[]", int: "bigint[]", bool: "boolean[]", bytes: "bytea[]"}


@functools.cache
def postgres_write(swap: Statement | None, tables: tuple[Table, ...]) -> str:
    """The statement that inserts any number of rows into each of these tables. With a compare-and-swap of one row,
    it inserts nothing unless that succeeds.

    It returns the number of rows that the compare-and-swap changed, if there is one, and then the number of
    inserted rows of each table. Parameters: those of the compare-and-swap, then one array for each column, table by
    table.
    """
    parts, counted, condition = [], [], ""
    numbers = itertools.count(1)
    if swap is not None:
        numbers = itertools.count(1 + len(swap.names))
        parts.append(f"swapped AS ({swap.sql} RETURNING 1)")
        counted.append("swapped")
        condition = " WHERE EXISTS (SELECT FROM swapped)"
    for table in tables:
        arrays = [f"${next(numbers)}::{_ARRAYS[type_]}" for _, type_ in table.columns]
        insert = insert_of(table, f"SELECT * FROM unnest({', '.join(arrays)}){condition}")  # noqa: S608
        parts.append(f"into_{table.name} AS ({insert} RETURNING 1)")
        counted.append(f"into_{table.name}")
    counts = ", ".join(f"(SELECT count(*) FROM {name})" for name in counted)  # noqa: S608
    return f"WITH {', '.join(parts)} SELECT {counts}"
