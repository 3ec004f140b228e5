"""The cache shows the newest version only, loads once for many, and stays within its limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from keystead.organizations.organization import Organization, Put, Record, Version
from keystead.primitives.share import Share
from keystead.storage.cache import CacheLimits, ChangedSince, OrganizationCache
from tests.support.commit_history import CommitHistory
from tests.support.commit_samples import an_organization


class Database:
    """What the cache asks, from a history of versions; `gate` holds answers back."""

    def __init__(self, *histories: list[Organization]) -> None:
        self.histories = {history[0].id: history for history in histories}
        self.loads: list[tuple[str, int | None]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.share = Share()
        self.on_load: Callable[[], None] = lambda: None

    async def version(self, organization_id: str) -> Version | None:
        history = self.histories.get(organization_id)
        return history[-1].version if history else None

    async def changed_since(self, organization_id: str, version_number: int | None) -> ChangedSince | None:
        self.loads.append((organization_id, version_number))
        newest = self.histories[organization_id][-1]
        self.on_load()
        await self.gate.wait()
        versions = self.histories[organization_id]
        known = next((one for one in versions if one.version.number == version_number), None)
        kept, found = by_key(known), by_key(newest)
        puts = [Put(record) for key, record in found.items() if kept.get(key) != record]
        return ChangedSince(newest.version, puts)


def by_key(organization: Organization | None) -> dict[tuple[str, str], Record]:
    maps = organization.maps.values() if organization else ()
    return {(map_.stored_name, id_): record for map_ in maps for id_, record in map_.items()}


def history(length: int = 1) -> list[Organization]:
    history = CommitHistory(an_organization())
    versions = [history.head]
    for _ in range(length - 1):
        history.step()
        versions.append(history.head)
    return versions


def cache_over(database: Database, **limits: int) -> OrganizationCache:
    return OrganizationCache(database, CacheLimits(**limits))


def test_it_loads_whole_then_what_changed_then_nothing() -> None:
    async def run() -> None:
        versions = history(3)
        database = Database(versions[:1])
        cache = cache_over(database)
        for newest in versions:
            database.histories[newest.id] = versions[: newest.version.number]
            for _ in range(2):
                assert await cache.newest(newest.id) == newest
        assert [number for _, number in database.loads] == [None, 1, 2]
        assert await cache.newest("unknown") is None

    asyncio.run(run())


def test_many_who_miss_share_one_load() -> None:
    async def run() -> None:
        versions = history()
        database = Database(versions)
        database.gate.clear()
        cache = cache_over(database)
        readers = [asyncio.create_task(cache.newest(versions[0].id)) for _ in range(5)]
        await asyncio.sleep(0)
        readers[0].cancel()
        database.gate.set()
        await asyncio.wait(readers)
        assert [reader.result() for reader in readers[1:]] == [versions[0]] * 4
        assert len(database.loads) == 1

    asyncio.run(run())


def test_a_load_that_began_earlier_is_not_enough() -> None:
    async def run() -> None:
        versions = history(2)
        database = Database(versions[:1])
        database.gate.clear()
        cache = cache_over(database)
        early = asyncio.create_task(cache.newest(versions[0].id))
        await asyncio.sleep(0.001)
        database.histories[versions[0].id] = versions
        late = asyncio.create_task(cache.newest(versions[0].id))
        await asyncio.sleep(0.001)
        database.gate.set()
        assert await late == versions[1]
        assert (await early).version >= versions[0].version  # type: ignore[union-attr]
        assert len(database.loads) == 2

    asyncio.run(run())


def test_own_commits_are_kept_and_never_replaced_by_older_ones() -> None:
    async def run() -> None:
        versions = history(3)
        database = Database(versions)
        cache = cache_over(database)
        assert cache.keep(versions[2]) is versions[2]
        assert cache.keep(versions[1]) is versions[2]
        assert await cache.newest(versions[0].id) is versions[2]
        assert database.loads == []

    asyncio.run(run())


def test_a_database_that_lost_commits_is_believed() -> None:
    async def run() -> None:
        versions = history(3)
        other = CommitHistory(versions[0])
        other.step()
        for lost in (versions[:2], [versions[0], other.head]):
            database = Database(lost)
            cache = cache_over(database)
            cache.keep(versions[2] if lost[-1] is versions[1] else versions[1])
            assert await cache.newest(versions[0].id) == lost[-1]
            assert [number for _, number in database.loads] == [None]

    asyncio.run(run())


def test_forgetting_during_a_load_of_changes_loads_whole() -> None:
    async def run() -> None:
        versions = history(2)
        database = Database(versions)
        cache = cache_over(database)
        cache.keep(versions[0])
        database.on_load = lambda: cache.clear() if len(database.loads) == 1 else None
        assert await cache.newest(versions[0].id) == versions[1]
        assert [number for _, number in database.loads] == [1, None]

    asyncio.run(run())


VERSIONS = history(3)
FIRST, SECOND, THIRD = VERSIONS
DuringTheWait = Callable[[OrganizationCache], object]
LOCKED: dict[str, tuple[Organization | None, DuringTheWait, list[int | None]]] = {
    "nothing happens": (FIRST, lambda _: None, []),
    "it is not cached": (None, lambda _: None, [None]),
    "the cache is cleared": (FIRST, lambda cache: cache.clear(), [None]),
    "it is evicted": (FIRST, lambda cache: cache.entries.remove(FIRST.id), []),
    "the cache learns of a later version": (FIRST, lambda cache: cache.keep(SECOND), []),
    "the cache learns of the newest version": (FIRST, lambda cache: cache.keep(THIRD), []),
}


@pytest.mark.parametrize(("known", "during", "loads"), LOCKED.values(), ids=LOCKED)
def test_the_changes_that_are_read_with_a_lock(
    known: Organization | None, during: DuringTheWait, loads: list[int | None]
) -> None:
    """They are read after a wait, in which other tasks use the cache."""

    async def run() -> None:
        database = Database(VERSIONS)
        cache = cache_over(database)
        if known is not None:
            cache.keep(known)
        before = cache.known(FIRST.id)
        during(cache)
        changed = await Database(VERSIONS).changed_since(FIRST.id, before.version_number)
        newest = await cache.after(FIRST.id, before, changed)
        assert newest == THIRD
        assert cache.known(FIRST.id).organization is newest
        assert [number for _, number in database.loads] == loads

    asyncio.run(run())


def test_a_lock_of_a_database_that_lost_commits_or_the_organization() -> None:
    async def run() -> None:
        database = Database(VERSIONS[:2])
        cache = cache_over(database)
        cache.keep(THIRD)
        known = cache.known(FIRST.id)
        assert await cache.after(FIRST.id, known, ChangedSince(SECOND.version, [])) == SECOND
        assert await cache.after(FIRST.id, known, None) is None
        assert cache.known(FIRST.id).organization is None

    asyncio.run(run())


def test_the_longest_unused_goes_first() -> None:
    async def run() -> None:
        organizations = [history()[0] for _ in range(3)]
        database = Database(*[[organization] for organization in organizations])
        for limits in ({"organizations_max": 2}, {"bytes_max": 2 * organizations[0].bytes}):
            database.loads.clear()
            cache = cache_over(database, **limits)
            for number in (0, 1, 0, 2, 0, 1):
                await cache.newest(organizations[number].id)
            assert [organization_id for organization_id, _ in database.loads] == [
                organizations[number].id for number in (0, 1, 2, 1)
            ]

    asyncio.run(run())


def test_one_organization_larger_than_the_cache_is_kept() -> None:
    async def run() -> None:
        versions = history()
        database = Database(versions)
        cache = cache_over(database, bytes_max=1)
        for _ in range(2):
            assert await cache.newest(versions[0].id) == versions[0]
        assert len(database.loads) == 1

    asyncio.run(run())


def test_answers_belong_to_one_version() -> None:
    versions = history(2)
    cache = cache_over(Database(versions))
    cache.keep(versions[0])
    cache.answers(versions[0]).keep("list_users", b"{}")
    assert cache.answers(versions[0]).get("list_users") == b"{}"
    assert cache.answers(versions[1]).get("list_users") is None
    late = cache.answers(versions[0])
    cache.keep(versions[1])
    assert cache.answers(versions[1]).get("list_users") is None
    for answers in (late, cache.answers(versions[0])):
        answers.keep("list_users", b"late")
        assert cache.answers(versions[0]).get("list_users") is None
    assert cache.entries.size == versions[1].bytes


def test_answers_count() -> None:
    """What lists of the organization's records take, beside the records, is bounded with them."""
    organizations = [history()[0] for _ in range(2)]
    cache = cache_over(Database(), bytes_max=organizations[0].bytes * 16)
    for organization in organizations:
        cache.keep(organization)
    answers = cache.answers(organizations[1])
    answers.keep("list_users", b"x" * 100)
    assert cache.entries.size == sum(one.bytes for one in organizations) + 100
    answers.keep("list_users", b"x" * 40)
    assert cache.entries.size == sum(one.bytes for one in organizations) + 40


def test_answers_take_half_of_the_cache_at_most() -> None:
    organizations = [history()[0] for _ in range(9)]
    size = organizations[0].bytes
    cache = cache_over(Database(), bytes_max=size * 9 + 100)
    for organization in organizations:
        cache.keep(organization)
    answers = cache.answers(organizations[0])
    for number in range(9):
        answers.keep(number, b"x" * (size - 10))
    assert [answers.get(number) is not None for number in range(9)] == [True] * 3 + [False] * 6
    dropped = [cache.entries.peek(organization.id) is None for organization in organizations]
    assert dropped == [False, True, True, True, *[False] * 5], "those used longest ago"


def test_readers_keep_up_with_a_database_that_changes_all_the_time() -> None:
    async def run() -> None:
        versions = history(60)
        database = Database(versions[:1])
        cache = cache_over(database)

        async def change() -> None:
            for number in range(2, 61):
                await asyncio.sleep(0)
                database.histories[versions[0].id] = versions[:number]

        async def read(pauses: int) -> None:
            seen = 0
            while seen < 60:
                asked = database.histories[versions[0].id][-1].version.number
                newest = await cache.newest(versions[0].id)
                assert newest is not None
                assert newest == versions[newest.version.number - 1]
                assert newest.version.number >= max(seen, asked)
                seen = newest.version.number
                for _ in range(pauses):
                    await asyncio.sleep(0)

        await asyncio.gather(change(), *[read(1 + number % 5) for number in range(10)])

    asyncio.run(run())
