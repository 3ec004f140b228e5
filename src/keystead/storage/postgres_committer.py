"""Commits to PostgreSQL: a few lanes, in each of which all commits that wait share a transaction.

Here: the lanes and their transactions. Not here: reading (`postgres`), which commits fit together (`groups`).

Why a commit is safe at READ COMMITTED: an organization's row is locked by the compare-and-swap of its version
(or just before it, where several organizations move at once). A transaction that finds the row locked waits, and
then judges the row that the other one left: if that committed, the version differs and this one moves nothing.
Records and attachments are written only under that lock. An activity's row is locked in the same way by the
compare-and-swap of its revision, and its votes are written only under that. Fingerprints have a unique index, whose
insert waits for another insert of the same fingerprint to commit or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from keystead.activities.store import CommitOutcome
from keystead.api.errors import ServiceError, Unavailable
from keystead.storage.base import Pending, unwritten
from keystead.storage.groups import Group, gather
from keystead.storage.postgres_connections import Connections
from keystead.storage.statements import PostgresStatements, Swap
from keystead.storage.steps import IF_SKIPPED, Move, Revaluation, Revision

Settled = Sequence[tuple[Pending, CommitOutcome | Exception]]

_GROUP_MAX = 64
"""How many commits share a transaction at most: they keep their organizations locked together."""


class PostgresCommitter:
    """Commits of one organization go through one lane, in their order; organizations share a lane by chance."""

    def __init__(
        self,
        connections: Connections,
        statements: PostgresStatements,
        settle: Callable[[Settled], None],
        *,
        lanes: int,
    ) -> None:
        self._connections = connections
        self._statements = statements
        self._settle = settle
        self._lanes: list[asyncio.Queue[Pending | None]] = [asyncio.Queue() for _ in range(lanes)]
        self._tasks = [asyncio.create_task(self._run(lane)) for lane in self._lanes]

    def hand_in(self, arrived: Sequence[Pending]) -> None:
        for pending in arrived:
            self._lanes[hash(pending.organization_id) % len(self._lanes)].put_nowait(pending)

    async def close(self) -> None:
        """Returns when everything handed in is settled."""
        for lane in self._lanes:
            lane.put_nowait(None)
        await asyncio.gather(*self._tasks)

    async def _run(self, lane: asyncio.Queue[Pending | None]) -> None:
        while (pending := await lane.get()) is not None:
            batch = [pending]
            while len(batch) < _GROUP_MAX and not lane.empty() and (pending := lane.get_nowait()) is not None:
                batch.append(pending)
            self._settle(await self._outcomes(batch))
            if pending is None:
                return

    async def _outcomes(self, batch: Sequence[Pending]) -> Settled:
        """All together if all of them hold, else each in a transaction of its own, in their order."""
        outcome = await self._attempt(batch)
        if outcome is CommitOutcome.COMMITTED or isinstance(outcome, Unavailable) or len(batch) == 1:
            return [(pending, outcome) for pending in batch]
        settled: list[tuple[Pending, CommitOutcome | Exception]] = []
        for pending in batch:
            # While the database does not answer, each would wait for it as long as the one before.
            outcome = outcome if isinstance(outcome, Unavailable) else await self._attempt([pending])
            settled.append((pending, outcome))
        return settled

    async def _attempt(self, batch: Sequence[Pending]) -> CommitOutcome | Exception:
        try:
            group = gather(pending.rows for pending in batch)
            return CommitOutcome.CONFLICT if group is None else await self._transact(group)
        except ServiceError as error:
            return error
        except Exception as error:  # noqa: BLE001 - handed to whoever waits; the lane must go on
            return unwritten(error)

    async def _transact(self, group: Group) -> CommitOutcome:
        async with self._connections.lend() as connection:
            transaction = connection.transaction(isolation="read_committed")
            await transaction.start()
            try:
                outcome = await self._write(connection, group)
            except BaseException:
                if not connection.is_closed():
                    await transaction.rollback()
                raise
            if outcome is CommitOutcome.COMMITTED:
                await transaction.commit()
            else:
                await transaction.rollback()
            return outcome

    async def _write(self, connection: Any, group: Group) -> CommitOutcome:
        sql = self._statements
        for swap, steps in (
            (sql.move, group.moves),
            (sql.revise, group.revisions),
            (sql.revalue, group.revaluations),
        ):
            if steps and not await _swapped(connection, swap, steps):
                return CommitOutcome.CONFLICT
        for table, insert in sql.inserts.items():
            if rows := group.rows.get(table):
                status = await connection.execute(insert, *zip(*rows, strict=True))
                if table in IF_SKIPPED and _count(status) != len(rows):
                    return IF_SKIPPED[table]
        for table, keys in group.gone.items():
            await connection.executemany(sql.deletions[table], keys)
        for contents in group.emptied:
            for statement in sql.wallet_emptying:
                await connection.execute(statement.sql, *statement.arguments(contents.parameters()))
        for organization_id in group.dissolved:
            for each in sql.dissolution:
                await connection.execute(each, organization_id)
        return CommitOutcome.COMMITTED


async def _swapped(connection: Any, swap: Swap, steps: Sequence[Move | Revaluation | Revision]) -> bool:
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
