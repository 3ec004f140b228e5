"""The commits of a process whose tables may be distributed over several nodes.

On one PostgreSQL server, all waiting commits share a transaction, also those of several organizations. On a
distributed database, a transaction over several organizations is a two-phase commit between their nodes. So each
organization has a queue of its own there, and several transactions run at the same time. Not here: one queue
(`group_commit`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from keystead.api.errors import ServiceError
from keystead.organizations.organization import Version
from keystead.storage.group_commit import GroupCommit, Outcome, Waiting, Write
from keystead.storage.rows import Rows

TRANSACTIONS_AT_ONCE: Final = 8
"""Transactions of one process on a distributed database."""


class DistributedCommits(GroupCommit):
    """Commits of all organizations in one queue, or a queue for each if the tables are distributed.

    `is_distributed` is called before the first commit; it may raise ServiceError. GroupCommit describes the other
    parameters.
    """

    def __init__(
        self,
        write: Write,
        committed: Callable[[Sequence[Waiting]], None],
        key_lengths: Mapping[str, int],
        newest: Callable[[str], Version | None],
        is_distributed: Callable[[], Awaitable[bool]],
    ) -> None:
        super().__init__(write, committed, key_lengths, newest)
        self._is_distributed = is_distributed
        self._has_distributed_tables: bool | None = None
        self._unqueued: list[Waiting] = []
        self._detection: asyncio.Task[None] | None = None
        self._queues: dict[str, GroupCommit] = {}
        self._free = asyncio.Semaphore(TRANSACTIONS_AT_ONCE)

    @property
    def waiting(self) -> int:
        return super().waiting + len(self._unqueued) + sum(queue.waiting for queue in self._queues.values())

    def add(self, waiting: Waiting) -> None:
        if self._has_distributed_tables is None:
            self._unqueued.append(waiting)
            if self._detection is None:
                self._detection = asyncio.get_running_loop().create_task(self._detect())
        elif self._has_distributed_tables:
            self._queue_of(waiting.organization_id).add(waiting)
        else:
            super().add(waiting)

    async def close(self) -> None:
        if self._detection is not None:
            await self._detection
        for queue in list(self._queues.values()):
            await queue.close()
        await super().close()

    async def _detect(self) -> None:
        try:
            self._has_distributed_tables = await self._is_distributed()
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
            queue = GroupCommit(self._write_in_turn, self._committed, self._key_lengths, self._newest)
            queue.on_transaction = lambda commits, seconds: self.on_transaction(commits, seconds)
            self._queues[organization_id] = queue
        return queue

    async def _write_in_turn(self, rows: Rows) -> Outcome:
        async with self._free:
            return await self._write(rows)
