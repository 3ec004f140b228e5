"""The queues of commits of a process: one, or one for each organization if the tables are distributed.

On one database server, all waiting commits share a transaction, also those of several organizations. On a
distributed database, a transaction over several organizations is a two-phase commit between their nodes. So each
organization has a queue of its own there, and several transactions run at the same time. Not here: one queue
(`group_commit`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from keystead.api.errors import ServiceError
from keystead.organizations.organization import Version
from keystead.storage.database import Database
from keystead.storage.group_commit import GroupCommit, Outcome, Waiting, Write
from keystead.storage.rows import Rows

TRANSACTIONS_AT_ONCE: Final = 8
"""Transactions of one process on a distributed database."""


class CommitQueues:
    """Before the first commit, the database is asked whether its tables are distributed.

    `committed`, `key_lengths`, `newest`: see `GroupCommit`. `on_transaction` is called after each transaction, with
    the number of its commits and the seconds that it took.
    """

    def __init__(
        self,
        database: Database,
        committed: Callable[[Sequence[Waiting]], None],
        key_lengths: Mapping[str, int],
        newest: Callable[[str], Version | None],
    ) -> None:
        self._database = database
        self._committed = committed
        self._key_lengths = key_lengths
        self._newest = newest
        self._is_distributed: bool | None = None
        self._unqueued: list[Waiting] = []
        self._detection: asyncio.Task[None] | None = None
        self._shared = self._new_queue(database.write)
        self._queues: dict[str, GroupCommit] = {}
        self._free = asyncio.Semaphore(TRANSACTIONS_AT_ONCE)
        self.on_transaction: Callable[[int, float], None] = lambda _commits, _seconds: None

    @property
    def waiting(self) -> int:
        """The commits that wait for the next transaction."""
        queued = sum(queue.waiting for queue in self._queues.values())
        return self._shared.waiting + len(self._unqueued) + queued

    def add(self, waiting: Waiting) -> None:
        if self._is_distributed is False:
            self._shared.add(waiting)
        elif self._is_distributed:
            self._queue_of(waiting.organization_id).add(waiting)
        else:
            self._unqueued.append(waiting)
            if self._detection is None:
                self._detection = asyncio.get_running_loop().create_task(self._detect())

    async def finish(self) -> None:
        """Wait until every commit that was added has its result."""
        if self._detection is not None:
            await self._detection
        for queue in [self._shared, *self._queues.values()]:
            await queue.finish()

    async def _detect(self) -> None:
        try:
            self._is_distributed = await self._database.is_distributed()
        except ServiceError as error:
            for waiting in self._unqueued:
                waiting.settle(error)
            self._unqueued = []
        finally:
            self._detection = None
        unqueued, self._unqueued = self._unqueued, []
        for waiting in unqueued:
            self.add(waiting)

    def _queue_of(self, organization_id: str) -> GroupCommit:
        queue = self._queues.get(organization_id)
        if queue is None:
            for idle_id in [id_ for id_, queue in self._queues.items() if not queue.is_busy]:
                del self._queues[idle_id]
            queue = self._queues[organization_id] = self._new_queue(self._write_in_turn)
        return queue

    def _new_queue(self, write: Write) -> GroupCommit:
        queue = GroupCommit(write, self._committed, self._key_lengths, self._newest)
        queue.on_transaction = lambda commits, seconds: self.on_transaction(commits, seconds)
        return queue

    async def _write_in_turn(self, rows: Rows) -> Outcome:
        async with self._free:
            return await self._database.write(rows)
