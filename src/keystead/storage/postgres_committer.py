"""Commits to PostgreSQL: a few lanes, in each of which all commits that wait share a transaction.

Here: the lanes. Not here: the transactions (`postgres_transactions`), reading (`postgres`), which commits fit
together (`groups`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from keystead.api.errors import ServiceError, Unavailable
from keystead.pipeline.store import CommitOutcome
from keystead.storage.base import unwritten
from keystead.storage.groups import gather
from keystead.storage.postgres_connections import Connections
from keystead.storage.postgres_transactions import transacted, write
from keystead.storage.promises import Pending, Settled
from keystead.storage.statements import PostgresStatements

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
            if group is None:
                return CommitOutcome.CONFLICT
            async with self._connections.lend() as connection:
                return await transacted(connection, lambda: write(connection, self._statements, group))
        except ServiceError as error:
            return error
        except Exception as error:  # noqa: BLE001 - handed to whoever waits; the lane must go on
            return unwritten(error)
