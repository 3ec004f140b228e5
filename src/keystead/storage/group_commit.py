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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from keystead.api.errors import Unavailable
from keystead.organizations.organization import Version
from keystead.pipeline.store import CommitResult
from keystead.storage.batch import Batch, merge
from keystead.storage.pending import PendingCommit, Settled
from keystead.storage.write_set import WriteSet

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

    `key_lengths`: see `merge`. `newest`: the newest version of an organization that this process knows.
    `on_transaction` is called after each transaction, with the number of its commits and the seconds that it took.
    """

    def __init__(
        self,
        write: Write,
        settle: Callable[[Settled], None],
        key_lengths: Mapping[str, int],
        newest: Callable[[str], Version | None] = lambda _: None,
    ) -> None:
        self._write = write
        self._key_lengths = key_lengths
        self._settle = settle
        self._newest = newest
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
                batch, lost = self._next_batch()
                self._settle([*await self._results(batch), *((pending, CommitResult.CONFLICT) for pending in lost)])
        finally:
            self._writer = None

    async def _let_commits_arrive(self) -> None:
        """Wait while each iteration of the event loop adds commits, so that requests that arrived together share a
        transaction."""
        count, ends_s = 0, time.perf_counter() + ARRIVAL_S
        while count < len(self._queue) < BATCH_MAX and time.perf_counter() < ends_s:
            count = len(self._queue)
            await asyncio.sleep(0)

    def _next_batch(self) -> tuple[Sequence[PendingCommit], Sequence[PendingCommit]]:
        """Take the oldest commits out of the queue that can be written together, and those that have lost a race. A
        commit does not overtake others of its organization, because it may start from their results."""
        batch: list[PendingCommit] = []
        lost: list[PendingCommit] = []
        left: list[PendingCommit] = []
        rows, overtaken, versions = 0, set[str](), dict[str, Version]()
        while self._queue and len(batch) < BATCH_MAX:
            pending = self._queue.popleft()
            size = pending.write_set.size
            if pending.organization_id not in overtaken and self._has_lost(pending.write_set):
                lost.append(pending)
            elif (
                pending.organization_id in overtaken
                or (batch and size > SMALL_ROWS and rows + size > ROWS_MAX)
                or any(versions.get(id_, version) != version for id_, version in pending.write_set.versions_before)
            ):
                overtaken.add(pending.organization_id)
                left.append(pending)
            else:
                batch.append(pending)
                rows += size
                versions.update(pending.write_set.versions_before)
                if (swap := pending.write_set.version_swap) is not None:
                    versions[swap.organization_id] = swap.after
        self._queue.extendleft(reversed(left))
        return batch, lost

    def _has_lost(self, write_set: WriteSet) -> bool:
        """Whether another commit has changed an organization since this one was decided on. It would end in a
        conflict, and all commits of its transaction would be written again."""
        for organization_id, version in write_set.versions_before:
            newest = self._newest(organization_id)
            if newest is not None and newest != version and newest.number >= version.number:
                return True
        return False

    async def _write_timed(self, batch: Batch, commits: int) -> CommitResult | Exception:
        began_s = time.perf_counter()
        result = await self._write(batch)
        self.on_transaction(commits, time.perf_counter() - began_s)
        return result

    async def _results(self, batch: Sequence[PendingCommit]) -> Settled:
        """Write the commits together. If that fails, write each half together, until the commits that fail are
        alone: an organization whose commits fail must not cost the others a transaction each."""
        if not batch:
            return []
        merged = merge((pending.write_set for pending in batch), self._key_lengths)
        result = CommitResult.CONFLICT if merged is None else await self._write_timed(merged, len(batch))
        if result is CommitResult.COMMITTED or isinstance(result, Unavailable) or len(batch) == 1:
            return [(pending, result) for pending in batch]
        settled: list[tuple[PendingCommit, CommitResult | Exception]] = []
        for part in _halves(batch):
            # While the database does not answer, each part would wait for the whole time limit.
            if isinstance(result, Unavailable):
                settled += [(pending, result) for pending in part]
            else:
                settled += await self._results(part)
                result = settled[-1][1]
        return settled


def _halves(batch: Sequence[PendingCommit]) -> tuple[Sequence[PendingCommit], Sequence[PendingCommit]]:
    """The commits of half of the organizations, and the others. If all are of one organization: the first half, and
    the others."""
    organization_ids = list(dict.fromkeys(pending.organization_id for pending in batch))
    if len(organization_ids) == 1:
        return batch[: len(batch) // 2], batch[len(batch) // 2 :]
    first = set(organization_ids[: len(organization_ids) // 2])
    return (
        [pending for pending in batch if pending.organization_id in first],
        [pending for pending in batch if pending.organization_id not in first],
    )
