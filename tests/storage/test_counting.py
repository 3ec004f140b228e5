"""The counters of velocity controls in transactions: of one process, of several, and their purge."""

from __future__ import annotations

import asyncio
from collections import Counter

from msgspec.structs import replace

from keystead.api.enums import AggregationOperator
from keystead.organizations.velocity.counters import Counted, Reliance
from keystead.pipeline.store import Commit, CommitResult
from keystead.server.installation.purging import ROWS_AT_ONCE, purge_expired
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import opened
from tests.storage.test_versioned_rows import writing
from tests.support.commit_history import CommitHistory, new_history

NOW_MS, WINDOW_MS, LIMIT = 1_000_000_000, 100, 10
AT_MOST = AggregationOperator.LESS_THAN_OR_EQUAL


def counting(history: CommitHistory, *amounts: int, at_ms: int = NOW_MS, counter: str = "control/") -> Commit:
    """A commit of an activity that adds these amounts, each within the limit."""
    added = [
        Counted(
            organization_id=history.head.id,
            counter_id=counter,
            window_ms=WINDOW_MS,
            at_ms=at_ms,
            amount=amount,
            relied_on=Reliance(AT_MOST, LIMIT, holds=True),
        )
        for amount in amounts
    ]
    return replace(writing(history), counted=tuple(added))


async def used(
    store: DatabaseStore, history: CommitHistory, now_ms: int = NOW_MS, counter: str = "control/"
) -> int:
    states = await store.attached.counters(history.head.id, [counter, "another/"], now_ms)
    return states[counter].used(WINDOW_MS) if counter in states else 0


def test_exactly_the_limit_is_committed(database: str) -> None:
    """By three processes at the same time, in transactions of many commits and of several counters."""

    async def run() -> None:
        async with opened(database) as one, opened(database) as two, opened(database) as three:
            history = await new_history(one)
            commits = [counting(history, 1, counter=f"control/{n % 2}") for n in range(60)]
            results = await asyncio.gather(
                *[(one, two, three)[n % 3].commit(each) for n, each in enumerate(commits)]
            )
            assert Counter(results) == {CommitResult.COMMITTED: 2 * LIMIT, CommitResult.CONFLICT: 40}
            for counter in ("control/0", "control/1"):
                assert await used(two, history, counter=counter) == LIMIT
            written = [
                await one.activities.get(history.head.id, each.activity.id) for each in commits if each.activity
            ]
            assert sum(each is not None for each in written) == 2 * LIMIT

    asyncio.run(run())


def test_what_is_in_conflict_writes_nothing(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            assert await store.commit(counting(history, 6)) is CommitResult.COMMITTED
            assert await store.commit(counting(history, 3, 2)) is CommitResult.CONFLICT
            assert await used(store, history) == 6
            assert await used(store, history, NOW_MS + WINDOW_MS) == 0
            assert await store.commit(counting(history, 5, at_ms=NOW_MS + WINDOW_MS)) is CommitResult.COMMITTED
            # A clock that is behind frees nothing.
            assert await used(store, history, 0) == 5
            assert await store.commit(counting(history, 6, at_ms=0)) is CommitResult.CONFLICT
            assert await store.commit(counting(history, 5, at_ms=0)) is CommitResult.COMMITTED

    asyncio.run(run())


def test_old_entries_are_purged_by_the_time_of_their_counter(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            last_ms = NOW_MS + 3 * ROWS_AT_ONCE
            for at_ms in range(NOW_MS, last_ms, 3):
                assert await store.commit(counting(history, 0 if at_ms % 2 else 1, at_ms=at_ms)) in CommitResult
            before = await used(store, history, last_ms)
            assert await purge_expired(store.purger, 10**15) >= 1, "whatever the time of the process that purges"
            assert not await store.purger.has_old_entries()
            assert await used(store, history, last_ms) == before
            assert await purge_expired(store.purger, 10**15) == 0

    asyncio.run(run())
