"""Which waiting commits share a transaction."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from keystead.organizations.organization import Version
from keystead.pipeline.store import CommitResult
from keystead.storage.batch import Batch
from keystead.storage.group_commit import ARRIVAL_S, ROWS_MAX, GroupCommit
from keystead.storage.pending import PendingCommit, pending_write
from keystead.storage.write_set import VersionSwap, WriteSet


def written(commits: Sequence[tuple[str, int]]) -> list[list[str]]:
    """The organizations of each transaction, if commits of these organizations and numbers of rows wait."""
    transactions: list[list[str]] = []
    versions: dict[str, int] = {}

    async def write(batch: Batch) -> CommitResult:
        transactions.append([swap.organization_id for swap in batch.version_swaps])
        return CommitResult.COMMITTED

    async def run() -> None:
        queue = GroupCommit(write, lambda _: None, {})
        for organization_id, rows in commits:
            before = versions.get(organization_id, 0)
            versions[organization_id] = before + 1
            swap = VersionSwap(organization_id, Version(before, ""), Version(before + 1, ""))
            row = ("lookup", (organization_id, 0, ""))
            queue.add(pending_write(organization_id, WriteSet(rows=[row] * rows, version_swap=swap), ()))
        await queue.close()

    asyncio.run(run())
    return transactions


def test_small_commits_share_a_transaction() -> None:
    assert written([("a", 1), ("b", 10), ("c", 5)]) == [["a", "b", "c"]]


def test_long_commits_are_written_one_at_a_time_and_small_ones_overtake_them() -> None:
    long = [(name, ROWS_MAX) for name in "abc"]
    assert written([*long, ("d", 1)]) == [["a", "d"], ["b"], ["c"]]


def test_a_commit_does_not_overtake_one_of_its_organization() -> None:
    assert written([("a", ROWS_MAX), ("b", ROWS_MAX), ("b", 1), ("c", 1)]) == [["a", "c"], ["b"]]


def test_a_commit_does_not_wait_for_all_that_arrive_while_the_event_loop_is_busy() -> None:
    """Each iteration of the event loop takes long, and adds a commit."""
    transactions: list[int] = []

    async def write(batch: Batch) -> CommitResult:
        transactions.append(len(batch.version_swaps))
        return CommitResult.COMMITTED

    async def run() -> None:
        queue = GroupCommit(write, lambda _: None, {})
        for number in range(5):
            queue.add(_commit(f"{number}"))
            time.sleep(ARRIVAL_S)  # noqa: ASYNC251 (work on the event loop)
            await asyncio.sleep(0)
        await queue.close()

    asyncio.run(run())
    assert len(transactions) > 1
    assert sum(transactions) == 5


def _commit(organization_id: str) -> PendingCommit:
    swap = VersionSwap(organization_id, Version(0, ""), Version(1, ""))
    return pending_write(organization_id, WriteSet(version_swap=swap), ())
