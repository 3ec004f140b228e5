"""Group commit: commits that arrive while a transaction is written are written in the next one.

Here: one queue and its writer, which runs one transaction at a time; and the queues of a process. On one database
server it has one queue, and commits of several organizations share a transaction. On a distributed database, such
a transaction is a two-phase commit between nodes. So each organization has a queue of its own there, and several
transactions run at the same time. Before a transaction begins, the writer lets the
event loop run while that adds commits, for at most ARRIVAL_S. It does not wait for a fixed time, as PostgreSQL's
`commit_delay` does. Not here: the transaction (`sqlite.database`, `postgres.transactions`), commits under a lock
(`store`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import msgspec

from keystead.api.errors import ServiceError, Unavailable
from keystead.organizations.organization import Version
from keystead.pipeline.store import CommitResult
from keystead.primitives.share import pause
from keystead.storage.database import Database
from keystead.storage.rows import Outcome, Rows, merge

BATCH_MAX: Final = 256
"""Most commits in one transaction. The first of them waits for all."""

ROWS_MAX: Final = 1_000
"""A commit that would make a transaction longer than this many rows waits for a later one, unless it is small."""

SMALL_ROWS: Final = 20
"""A commit of at most this many rows is small, and waits for at most one transaction. Nearly all are."""

ARRIVAL_S: Final = 0.02
"""The longest that the first commit of a transaction waits for others, unless one iteration of the event loop takes
longer. Each of 40 organizations may send a transaction that takes an iteration of 15 ms to read."""

TRANSACTIONS_AT_ONCE: Final = 8
"""Transactions of one process on a distributed database."""

Write = Callable[[Rows], Awaitable[Outcome]]


class Waiting(msgspec.Struct, frozen=True):
    """The rows of a commit, the organization that it belongs to, and the future of its result."""

    organization_id: str
    rows: Rows
    result: asyncio.Future[CommitResult]

    def settle(self, outcome: Outcome) -> None:
        """Report the result, unless the caller was cancelled."""
        if self.result.done():
            return
        if isinstance(outcome, CommitResult):
            self.result.set_result(outcome)
        else:
            self.result.set_exception(outcome)


class GroupCommit:
    """Writes the commits that arrive during a transaction together in the next one.

    Belongs to one event loop. `write` runs a transaction; `committed` gets the commits of each transaction that
    succeeded, before their callers get the results; `failed` gets the error of one that the database did not carry
    out.

    `key_lengths`: see `merge`. `newest`: the newest version of an organization that this process knows.
    `on_transaction` is called after each transaction, with the number of its commits and the seconds that it took.
    """

    def __init__(
        self,
        write: Write,
        committed: Callable[[Sequence[Waiting]], None],
        key_lengths: Mapping[str, int],
        newest: Callable[[str], Version | None] = lambda _: None,
        failed: Callable[[Unavailable], None] = lambda _: None,
    ) -> None:
        self._write = write
        self._failed = failed
        self._committed = committed
        self._key_lengths = key_lengths
        self._newest = newest
        self._queue: deque[Waiting] = deque()
        self._writer: asyncio.Task[None] | None = None
        self.on_transaction: Callable[[int, float], None] = lambda _commits, _seconds: None

    @property
    def waiting(self) -> int:
        """The commits that wait for the next transaction."""
        return len(self._queue)

    @property
    def is_busy(self) -> bool:
        """Whether a commit waits or is being written."""
        return self._writer is not None

    def add(self, waiting: Waiting) -> None:
        self._queue.append(waiting)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._run())

    async def finish(self) -> None:
        """Wait until every commit that was added has its result."""
        while self._writer is not None:
            await self._writer

    async def _run(self) -> None:
        try:
            while self._queue:
                await self._let_commits_arrive()
                batch, lost = self._next_batch()
                if batch:
                    await self._write_batch(batch)
                for waiting in lost:
                    waiting.settle(CommitResult.CONFLICT)
        finally:
            self._writer = None

    async def _let_commits_arrive(self) -> None:
        """Wait while each iteration of the event loop adds commits, so that requests that arrived together share a
        transaction."""
        count, ends_s = 0, time.perf_counter() + ARRIVAL_S
        while count < len(self._queue) < BATCH_MAX and time.perf_counter() < ends_s:
            count = len(self._queue)
            await pause()

    def _next_batch(self) -> tuple[Sequence[Waiting], Sequence[Waiting]]:
        """Take the oldest commits out of the queue that can be written together, and those that have lost a race. A
        commit does not overtake others of its organization, because it may start from their results."""
        batch: list[Waiting] = []
        lost: list[Waiting] = []
        left: list[Waiting] = []
        count, overtaken, versions = 0, set[str](), dict[str, Version]()
        while self._queue and len(batch) < BATCH_MAX:
            waiting = self._queue.popleft()
            rows, size, needed = waiting.rows, waiting.rows.size, waiting.rows.versions_before()
            is_overtaken = waiting.organization_id in overtaken
            if not is_overtaken and self._has_lost(needed):
                lost.append(waiting)
            elif (
                is_overtaken
                or (batch and size > SMALL_ROWS and count + size > ROWS_MAX)
                or _differs(needed, versions)
            ):
                overtaken.add(waiting.organization_id)
                left.append(waiting)
            else:
                batch.append(waiting)
                count += size
                versions.update(rows.version_checks)
                for swap in rows.version_swaps:
                    versions[swap.organization_id] = swap.after
        self._queue.extendleft(reversed(left))
        return batch, lost

    def _has_lost(self, needed: Sequence[tuple[str, Version]]) -> bool:
        """Whether another commit has changed an organization since a commit was decided on these versions. It would
        end in a conflict, and all commits of its transaction would be written again."""
        for organization_id, version in needed:
            newest = self._newest(organization_id)
            if newest is not None and newest != version and newest.number >= version.number:
                return True
        return False

    async def _write_batch(self, batch: Sequence[Waiting]) -> Outcome:
        """Write the commits together. If that fails, write each half together, until the commits that fail are
        alone: an organization whose commits fail must not cost the others a transaction each. Returns the result of
        the last transaction."""
        rows = merge([waiting.rows for waiting in batch], self._key_lengths)
        outcome: Outcome = CommitResult.CONFLICT
        if rows is not None:
            began_s = time.perf_counter()
            outcome = await self._write(rows)
            self.on_transaction(len(batch), time.perf_counter() - began_s)
        if isinstance(outcome, Unavailable):
            self._failed(outcome)
        if outcome is CommitResult.COMMITTED:
            self._committed(batch)
            for waiting in batch:
                waiting.settle(outcome)
        elif isinstance(outcome, Unavailable) or len(batch) == 1:
            # While the database does not answer, each part would wait for the whole time limit.
            for waiting in batch:
                waiting.settle(outcome)
        else:
            first, second = _halves(batch)
            outcome = await self._write_batch(first)
            if isinstance(outcome, Unavailable):
                for waiting in second:
                    waiting.settle(outcome)
            else:
                outcome = await self._write_batch(second)
        return outcome


def _differs(needed: Sequence[tuple[str, Version]], versions: Mapping[str, Version]) -> bool:
    """Whether a commit was decided on other versions than those after the commits of the batch."""
    return any(versions.get(organization_id, version) != version for organization_id, version in needed)


def _halves(batch: Sequence[Waiting]) -> tuple[Sequence[Waiting], Sequence[Waiting]]:
    """The commits of half of the organizations, and the others. If all are of one organization: the first half, and
    the others."""
    organization_ids = list(dict.fromkeys(waiting.organization_id for waiting in batch))
    if len(organization_ids) == 1:
        return batch[: len(batch) // 2], batch[len(batch) // 2 :]
    first = set(organization_ids[: len(organization_ids) // 2])
    return (
        [waiting for waiting in batch if waiting.organization_id in first],
        [waiting for waiting in batch if waiting.organization_id not in first],
    )


class CommitQueues:
    """Before the first commit, the database is asked whether its tables are distributed.

    `committed`, `key_lengths`, `newest`, `failed`: see `GroupCommit`. `on_transaction` is called after each
    transaction, with the number of its commits and the seconds that it took.
    """

    def __init__(
        self,
        database: Database,
        committed: Callable[[Sequence[Waiting]], None],
        key_lengths: Mapping[str, int],
        newest: Callable[[str], Version | None],
        failed: Callable[[Unavailable], None],
    ) -> None:
        self._database = database
        self._failed = failed
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
        queue = GroupCommit(write, self._committed, self._key_lengths, self._newest, self._failed)
        queue.on_transaction = lambda commits, seconds: self.on_transaction(commits, seconds)
        return queue

    async def _write_in_turn(self, rows: Rows) -> Outcome:
        async with self._free:
            return await self._database.write(rows)
