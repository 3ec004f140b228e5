"""One transaction on PostgreSQL: what it writes, and how it ends.

Here: the statements of a batch in their order. Not here: who begins a transaction (`postgres`, `postgres_locks`),
how commits are merged (`batch`).

Why a commit is safe at READ COMMITTED:

- The compare-and-swap of an organization's version locks its row. Records and attachments are written only under
  that lock.
- A commit that does not change the organization locks the row in shared mode, after its other statements, so that
  the lock is short. No other transaction can then change the organization before this one is committed.
- Neither waits for a row that another transaction has locked (SKIP LOCKED). That transaction changes the
  organization, so this commit has lost the race. Therefore no two transactions wait for each other.
- The compare-and-swap of an activity's revision locks its row, in order of ids. Votes are written only under that.
- Fingerprints have a unique index. An insert waits until another insert of the same fingerprint is committed or
  rolled back. The same holds for credentials that only one sub-organization of a parent may have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import asyncpg

from keystead.organizations.organization import Version
from keystead.pipeline.store import CommitOutcome
from keystead.storage import write_set
from keystead.storage.batch import Batch
from keystead.storage.statements import PostgresStatements, Swap
from keystead.storage.tables import postgres_insert


async def transacted(connection: Any, work: Callable[[], Awaitable[CommitOutcome]]) -> CommitOutcome:
    """Run `work` in a transaction. If its outcome is COMMITTED, the transaction is committed, otherwise rolled
    back."""
    transaction = connection.transaction(isolation="read_committed")
    await transaction.start()
    try:
        outcome = await work()
    except asyncpg.DeadlockDetectedError:  # the other transaction continues, this one may be repeated
        outcome = CommitOutcome.CONFLICT
    except BaseException:
        if not connection.is_closed():
            await transaction.rollback()
        raise
    if outcome is CommitOutcome.COMMITTED:
        await transaction.commit()
    else:
        await transaction.rollback()
    return outcome


async def write(connection: Any, sql: PostgresStatements, batch: Batch) -> CommitOutcome:
    """Write a batch inside a transaction. The caller must roll it back unless the outcome is COMMITTED."""
    swaps: list[tuple[Swap, Sequence[write_set.Swap]]] = [
        (sql.swap_version, batch.version_swaps),
        (sql.swap_activity, batch.activity_swaps),
        (sql.swap_setting, batch.setting_swaps),
        *((sql.swap_rows[table], steps) for table, steps in batch.row_swaps.items()),
    ]
    for swap, steps in swaps:
        if steps and not await _swapped(connection, swap, steps):
            return CommitOutcome.CONFLICT
    tables = tuple(table for table in sql.tables if batch.rows.get(table.name))
    if tables:
        columns = [column for table in tables for column in zip(*batch.rows[table.name], strict=True)]
        inserted = await connection.fetchrow(postgres_insert(tables), *columns)
        for table, count in zip(tables, inserted, strict=True):
            if table.if_skipped is not None and count != len(batch.rows[table.name]):
                return table.if_skipped
    for name, keys in batch.deleted.items():
        await connection.executemany(sql.deletions[name], keys)
    for contents in batch.emptied_wallets:
        for statement in sql.empty_wallet:
            await connection.execute(statement.sql, *statement.arguments(contents.parameters()))
    for purge in batch.purges:
        statement = sql.purges[purge.table]
        await connection.execute(statement.sql, *statement.arguments(purge.parameters()))
    for organization_id in batch.deleted_organizations:
        for each in sql.delete_organization:
            await connection.execute(each, organization_id)
    if batch.version_checks and not await _versions_hold(connection, sql, batch.version_checks):
        return CommitOutcome.CONFLICT
    return CommitOutcome.COMMITTED


async def _versions_hold(connection: Any, sql: PostgresStatements, checks: Mapping[str, Version]) -> bool:
    """Whether these organizations have these versions. If so, they cannot change until the transaction ends."""
    found = {
        organization_id: Version(number, changed_by)
        for organization_id, number, changed_by in await connection.fetch(sql.check_versions.sql, list(checks))
    }
    return found == checks


async def _swapped(connection: Any, swap: Swap, steps: Sequence[write_set.Swap]) -> bool:
    arguments = [swap.update.arguments(step.parameters()) for step in steps]
    if len(arguments) == 1:
        return _count(await connection.execute(swap.update.sql, *arguments[0])) == 1
    # Every process locks in order of ids, so that two transactions never wait for each other. The rows are
    # returned as they are when locked. Then the updates succeed, and take one round trip together.
    keys = zip(*[step.key() for step in steps], strict=True)
    found = {tuple(row) for row in await connection.fetch(swap.locked.sql, *map(list, keys))}
    if any(step.expected() not in found for step in steps):
        return False
    await connection.executemany(swap.update.sql, arguments)
    return True


def _count(status: str) -> int:
    """How many rows a statement wrote, from its command tag: "UPDATE 1", "INSERT 0 3"."""
    return int(status.rpartition(" ")[2])
