"""Group commit: commits that arrive while a transaction is written are written in the next one.

Here: one queue and its writer, which runs one transaction at a time. A process has one queue; on a distributed
database it has one for each organization (`distributed_commits`). Before a transaction begins, the writer lets the
event loop run while that adds commits, for at most ARRIVAL_S. It does not wait for a fixed time, as PostgreSQL's
`commit_delay` does. Not here: the transaction (`sqlite_writer`, `postgres_transactions`), commits under a lock of
PostgreSQL (`postgres_locks`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final

from keystead.api.errors import Unavailable
from keystead.pipeline.store import CommitResult
from keystead.storage.batch import Batch, merge
from keystead.storage.pending import PendingCommit, Settled

BATCH_MAX: Final = 256
"""Most commits in one transaction. The first of them waits for all."""

ROWS_MAX: Final = 1_000
"""A commit that would make a transaction longer than this many rows waits for a later one, unless it is small."""

SMALL_ROWS: Final = 20
"""A commit of at most this many rows is small, and waits for at most one transaction. Nearly all are."""

ARRIVAL_S: Final = 0.02
"""The longest that the first commit of a transaction waits for others, unless one iteration of the event loop takes
longer. Each of 40 organizations may send a transaction that takes an iteration of 15 ms to read."""

Write = Callable[[Batch], Awaitable[CommitResult | Exception]]


class GroupCommit:
    """Belongs to one event loop. `write` runs a transaction; `settle` gets the results, in order.

    `key_lengths`: see `merge`. `on_transaction` is called after each transaction, with the number of its commits
    and the seconds that it took.
    """

    def __init__(self, write: Write, settle: Callable[[Settled], None], key_lengths: Mapping[str, int]) -> None:
        self._write = write
        self._key_lengths = key_lengths
        self._settle = settle
        self._queue: deque[PendingCommit] = deque()
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

    def add(self, pending: PendingCommit) -> None:
        self._queue.append(pending)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Wait until every commit that was added has its result."""
        while self._writer is not None:
            await self._writer

    async def _run(self) -> None:
        try:
            while self._queue:
                await self._let_commits_arrive()
                self._settle(await self._results(self._next_batch()))
        finally:
            self._writer = None

    async def _let_commits_arrive(self) -> None:
        """Wait while each iteration of the event loop adds commits, so that requests that arrived together share a
        transaction."""
        count, ends_s = 0, time.perf_counter() + ARRIVAL_S
        while count < len(self._queue) < BATCH_MAX and time.perf_counter() < ends_s:
            count = len(self._queue)
            await asyncio.sleep(0)

    def _next_batch(self) -> Sequence[PendingCommit]:
        """Take the oldest commit out of the queue, and with it the others that fit. A commit does not overtake
        others of its organization, because it may start from their results."""
        batch = [self._queue.popleft()]
        rows = batch[0].write_set.size
        left: list[PendingCommit] = []
        overtaken: set[str] = set()
        while self._queue and len(batch) < BATCH_MAX:
            pending = self._queue.popleft()
            size = pending.write_set.size
            if pending.organization_id in overtaken or (size > SMALL_ROWS and rows + size > ROWS_MAX):
                overtaken.add(pending.organization_id)
                left.append(pending)
            else:
                batch.append(pending)
                rows += size
        self._queue.extendleft(reversed(left))
        return batch

    async def _write_timed(self, batch: Batch, commits: int) -> CommitResult | Exception:
        began_s = time.perf_counter()
        result = await self._write(batch)
        self.on_transaction(commits, time.perf_counter() - began_s)
        return result

    async def _results(self, batch: Sequence[PendingCommit]) -> Settled:
        """Write the commits together. If that fails, write those of each organization together; if that fails, one
        by one."""
        merged = merge((pending.write_set for pending in batch), self._key_lengths)
        result = CommitResult.CONFLICT if merged is None else await self._write_timed(merged, len(batch))
        if result is CommitResult.COMMITTED or isinstance(result, Unavailable) or len(batch) == 1:
            return [(pending, result) for pending in batch]
        settled: list[tuple[PendingCommit, CommitResult | Exception]] = []
        for part in _parts(batch):
            # While the database does not answer, each part would wait for the whole time limit.
            if isinstance(result, Unavailable):
                settled += [(pending, result) for pending in part]
            else:
                settled += await self._results(part)
                result = settled[-1][1]
        return settled


def _parts(batch: Sequence[PendingCommit]) -> Iterator[Sequence[PendingCommit]]:
    """The commits of each organization, in their order. If all are of one organization: each commit alone."""
    by_organization: dict[str, list[PendingCommit]] = {}
    for pending in batch:
        by_organization.setdefault(pending.organization_id, []).append(pending)
    if len(by_organization) > 1:
        yield from by_organization.values()
    else:
        yield from ([pending] for pending in batch)
