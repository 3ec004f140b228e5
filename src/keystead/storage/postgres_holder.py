"""Holds of organizations on PostgreSQL: each is a transaction that locks the organization's row and waits.

Here: taking the lock, and letting go. Not here: what is written under it (`postgres_transactions`).

Whoever else commits a change of the organization waits for the row, and then finds its version changed. The server
queues those who wait for one row. A process that dies lets go with its connection; one that stands still loses the
connection after a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from keystead.api.errors import ServiceError
from keystead.pipeline.store import CommitOutcome
from keystead.storage.base import unwritten
from keystead.storage.groups import gather
from keystead.storage.postgres_connections import Connections
from keystead.storage.postgres_transactions import transacted, write
from keystead.storage.promises import Hold, Settled
from keystead.storage.statements import PostgresStatements


class PostgresHolder:
    """Each hold borrows a connection for as long as it lasts."""

    def __init__(
        self, connections: Connections, statements: PostgresStatements, settle: Callable[[Settled], None]
    ) -> None:
        self._connections = connections
        self._statements = statements
        self._settle = settle
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, hold: Hold) -> None:
        task = asyncio.create_task(self._obey(hold))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Returns when every hold has ended."""
        await asyncio.gather(*self._tasks)

    async def _obey(self, hold: Hold) -> None:
        outcome: CommitOutcome | Exception
        try:
            async with self._connections.lend() as connection:
                outcome = await transacted(connection, lambda: self._ordered(connection, hold))
        except ServiceError as error:
            outcome = error
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            outcome = unwritten(error)
        self._settle(hold.end(outcome))

    async def _ordered(self, connection: Any, hold: Hold) -> CommitOutcome:
        await connection.execute(self._statements.swap_version.locked.sql, [hold.organization_id])
        hold.enter()
        pending = await asyncio.wrap_future(hold.order)
        group = gather([pending.rows]) if pending is not None else None
        return CommitOutcome.CONFLICT if group is None else await write(connection, self._statements, group)
