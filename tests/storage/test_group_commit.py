"""Which waiting commits share a transaction."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from keystead.organizations.organization import Version
from keystead.pipeline.store import CommitResult
from keystead.storage.group_commit import ARRIVAL_S, ROWS_MAX, GroupCommit, Waiting
from keystead.storage.rows import Rows, VersionSwap

COMMITTED, CONFLICT, *_ = CommitResult


def written(commits: Sequence[tuple[str, int]]) -> list[list[str]]:
    """The organizations of each transaction, if commits of these organizations and numbers of rows wait."""
    transactions: list[list[str]] = []
    versions: dict[str, int] = {}

    async def write(rows: Rows) -> CommitResult:
        transactions.append([swap.organization_id for swap in rows.version_swaps])
        return CommitResult.COMMITTED

    async def run() -> None:
        queue = GroupCommit(write, lambda _: None, {})
        loop = asyncio.get_running_loop()
        for organization_id, count in commits:
            before = versions.get(organization_id, 0)
            versions[organization_id] = before + 1
            swap = VersionSwap(organization_id, Version(before, ""), Version(before + 1, ""), 1)
            row = ("lookup", (organization_id, 0, ""))
            rows = Rows(inserted=[row] * count, version_swaps=[swap])
            queue.add(Waiting(organization_id, rows, loop.create_future()))
        await queue.finish()

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
    database = _Database()
    database.hand_in([_change(f"{number}", 0) for number in range(5)], each_s=ARRIVAL_S)
    assert len(database.transactions) > 1
    assert sum(database.transactions) == 5


def test_commits_that_lost_a_race_cost_the_others_no_transaction() -> None:
    """Signatures that were decided on before their organization changed, in the same batch or in the one before."""
    database = _Database()
    others = [_change(f"other {number}", 0) for number in range(20)]
    late, on_time = [_signature("a", 0)] * 2, [_signature("a", 1)] * 3
    results = database.hand_in([_signature("a", 0), _change("a", 0), *late, *others, *on_time])
    assert results == [COMMITTED, COMMITTED, CONFLICT, CONFLICT, *[COMMITTED] * 23]
    assert database.transactions == [22, 3]


def test_a_conflict_with_another_process_costs_few_transactions() -> None:
    """Which commit fails is not known, so those of half of the organizations are written together."""
    database = _Database({"17": Version(9, "")})
    results = database.hand_in([_change(f"{number}", 0) for number in range(32)])
    assert [number for number, result in enumerate(results) if result is not COMMITTED] == [17]
    assert len(database.transactions) == 11


class _Database:
    """Transactions that swap and check versions. `elsewhere`: versions that another process has written."""

    def __init__(self, elsewhere: Mapping[str, Version] | None = None) -> None:
        self._elsewhere = elsewhere or {}
        self._versions: dict[str, Version] = {}
        self.transactions: list[int] = []
        """How many commits each transaction had."""

    def hand_in(self, commits: Sequence[Rows], each_s: float = 0) -> list[CommitResult]:
        """The results of commits. `each_s`: how long the event loop is busy after each."""

        async def run() -> list[CommitResult]:
            queue = GroupCommit(self._write, self._committed, {}, self._versions.get)
            results: list[asyncio.Future[CommitResult]] = []
            for rows in commits:
                ((organization_id, _),) = rows.versions_before()
                results.append(asyncio.get_running_loop().create_future())
                queue.add(Waiting(organization_id, rows, results[-1]))
                if each_s:
                    time.sleep(each_s)  # noqa: ASYNC251 (work on the event loop)
                    await asyncio.sleep(0)
            await queue.finish()
            return [result.result() for result in results]

        return asyncio.run(run())

    async def _write(self, rows: Rows) -> CommitResult:
        self.transactions.append(len(rows.inserted))
        stored = {**self._versions, **self._elsewhere}
        holds = all(stored.get(id_, Version(0, "")) == version for id_, version in rows.versions_before())
        return COMMITTED if holds else CONFLICT

    def _committed(self, commits: Sequence[Waiting]) -> None:
        for one in commits:
            self._versions.update({swap.organization_id: swap.after for swap in one.rows.version_swaps})


_ROW = ("lookup", ("", 0, ""))


def _change(organization_id: str, before: int) -> Rows:
    swap = VersionSwap(organization_id, Version(before, ""), Version(before + 1, ""), 1)
    return Rows(inserted=[_ROW], version_swaps=[swap])


def _signature(organization_id: str, decided_on: int) -> Rows:
    return Rows(inserted=[_ROW], version_checks=[(organization_id, Version(decided_on, ""))])
