"""A bounded cache drops the least recently used entries, and counts its hits and misses."""

from __future__ import annotations

import pytest

from keystead.primitives.lru import Lru


def held(cache: Lru[str, int], keys: str) -> str:
    return "".join(key for key in keys if cache.peek(key) is not None)


def test_the_least_recently_used_entry_is_dropped() -> None:
    cache = Lru[str, int](3)
    for number, key in enumerate("abc"):
        cache.put(key, number)
    assert cache.get("a") == 0
    assert cache.peek("b") == 1
    cache.put("d", 3)
    assert held(cache, "abcd") == "acd"
    assert (cache.get("b"), cache.hits, cache.misses, len(cache)) == (None, 1, 1, 3)


SIZES = [
    pytest.param([("a", 4), ("b", 4), ("c", 4)], "bc", 8, id="two of three fit"),
    pytest.param([("a", 1), ("b", 1), ("c", 10)], "c", 10, id="a large one drops many"),
    pytest.param([("a", 1), ("b", 11)], "a", 1, id="one that does not fit alone is not kept"),
    pytest.param([("a", 9), ("a", 2), ("b", 8)], "ab", 10, id="one in the place of another"),
    pytest.param([("a", 1), ("b", 1), ("c", 1), ("d", 1)], "bcd", 3, id="at most three entries"),
]


@pytest.mark.parametrize(("puts", "kept", "size"), SIZES)
def test_sizes(puts: list[tuple[str, int]], kept: str, size: int) -> None:
    cache = Lru[str, int](10, 3)
    for key, each in puts:
        cache.put(key, each, each)
    assert (held(cache, "abcd"), cache.size) == (kept, size)


def test_the_newest_entry_may_be_kept_at_any_size() -> None:
    cache = Lru[str, int](10, keeps_newest=True)
    cache.put("a", 1, 1)
    cache.put("b", 2, 99)
    assert (held(cache, "ab"), cache.size) == ("b", 99)
    cache.put("c", 3, 1)
    assert (held(cache, "abc"), cache.size) == ("c", 1)


def test_removing() -> None:
    cache = Lru[str, int](10)
    cache.put("a", 1, 5)
    cache.remove("a")
    cache.remove("a")
    assert (len(cache), cache.size) == (0, 0)
    cache.put("b", 1, 5)
    cache.clear()
    assert (len(cache), cache.size) == (0, 0)
