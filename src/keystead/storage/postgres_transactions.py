"""One transaction on PostgreSQL: what it writes, and how it ends.

Here: the statements of a group in their order. Not here: who begins a transaction (`postgres_committer`,
`postgres_holder`), which commits fit together (`groups`).

Why a commit is safe at READ COMMITTED: an organization's row is locked by the compare-and-swap of its version
(or before it, where several organizations move at once, or one is held). A transaction that finds the row locked
waits, and then judges the row that the other one left: if that committed, the version differs and this one moves
nothing. Records and attachments are written only under that lock. An activity's row is locked in the same way by
the compare-and-swap of its revision, and its votes are written only under that. Fingerprints have a unique index,
whose insert waits for another insert of the same fingerprint to commit or not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg

from keystead.pipeline.store import CommitOutcome
from keystead.storage.groups import Group
from keystead.storage.statements import PostgresStatements, Swap
from keystead.storage.write_set import IF_SKIPPED, ActivitySwap, SettingSwap, VersionSwap


async def transacted(connection: Any, work: Callable[[], Awaitable[CommitOutcome]]) -> CommitOutcome:
    """Run `work` in a transaction, which is committed if that is its outcome, else rolled back."""
    transaction = connection.transaction(isolation="read_committed")
    await transaction.start()
    try:
        outcome = await work()
    except asyncpg.DeadlockDetectedError:  # somebody else's transaction goes on, and this one may be tried again
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


async def write(connection: Any, sql: PostgresStatements, group: Group) -> CommitOutcome:
    """Inside a transaction, which must be rolled back unless the outcome is COMMITTED."""
    for swap, steps in (
        (sql.swap_version, group.version_swaps),
        (sql.swap_activity, group.activity_swaps),
        (sql.swap_setting, group.setting_swaps),
    ):
        if steps and not await _swapped(connection, swap, steps):
            return CommitOutcome.CONFLICT
    for table, insert in sql.inserts.items():
        if rows := group.rows.get(table):
            status = await connection.execute(insert, *zip(*rows, strict=True))
            if table in IF_SKIPPED and _count(status) != len(rows):
                return IF_SKIPPED[table]
    for table, keys in group.deleted.items():
        await connection.executemany(sql.deletions[table], keys)
    for contents in group.emptied_wallets:
        for statement in sql.empty_wallet:
            await connection.execute(statement.sql, *statement.arguments(contents.parameters()))
    for organization_id in group.deleted_organizations:
        for each in sql.delete_organization:
            await connection.execute(each, organization_id)
    return CommitOutcome.COMMITTED


async def _swapped(connection: Any, swap: Swap, steps: Sequence[VersionSwap | SettingSwap | ActivitySwap]) -> bool:
    arguments = [swap.update.arguments(step.parameters()) for step in steps]
    if len(arguments) == 1:
        return _count(await connection.execute(swap.update.sql, *arguments[0])) == 1
    # Locked in order of ids, as every process does, so that two groups never wait for each other; the rows
    # come back as they are once locked. Then the updates are certain, and need one round trip together.
    keys = zip(*[step.key() for step in steps], strict=True)
    found = {tuple(row) for row in await connection.fetch(swap.locked.sql, *map(list, keys))}
    if any(step.expected() not in found for step in steps):
        return False
    await connection.executemany(swap.update.sql, arguments)
    return True


def _count(status: str) -> int:
    """How many rows a statement wrote, from its command tag: "UPDATE 1", "INSERT 0 3"."""
    return int(status.rpartition(" ")[2])
