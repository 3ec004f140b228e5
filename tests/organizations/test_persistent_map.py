"""The persistent map gives the same answers as a dict after any changes, and no change affects an older map."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keystead.organizations.persistent_map import PersistentMap

KEYS = st.integers(0, 400).map(str)
CHANGES = st.lists(st.tuples(st.sampled_from(["set", "delete"]), KEYS, st.integers()), max_size=60)


def same(of: PersistentMap[str, int], as_: dict[str, int]) -> None:
    assert len(of) == len(as_)
    assert dict(of.items()) == as_
    assert sorted(of) == sorted(as_)
    assert sorted(of.values()) == sorted(as_.values())
    assert all(of[key] == of.get(key) == value for key, value in as_.items())
    assert "absent" not in of
    assert of.get("absent", 7) == 7


@given(st.dictionaries(KEYS, st.integers(), max_size=300), CHANGES)
def test_the_map_agrees_with_a_dict_and_older_maps_do_not_change(
    start: dict[str, int], changes: list[tuple[str, str, int]]
) -> None:
    first = now = PersistentMap(start)
    expected = dict(start)
    for word, key, value in changes:
        if word == "set":
            now, expected[key] = now.set(key, value), value
        elif key in expected:
            now = now.delete(key)
            del expected[key]
        else:
            with pytest.raises(KeyError):
                now.delete(key)
    same(now, expected)
    same(first, start)


def test_grows_and_shrinks_through_every_size() -> None:
    maps = [PersistentMap[str, int]()]
    for number in range(3_000):
        maps.append(maps[-1].set(str(number), number))
    now = maps[-1]
    for number in range(2_999, 99, -1):
        now = now.delete(str(number))
    same(now, {str(number): number for number in range(100)})
    for size in (0, 1, 64, 65, 255, 256, 1_025, 3_000):
        same(maps[size], {str(number): number for number in range(size)})


def test_equal_by_entries_however_they_came() -> None:
    built = PersistentMap({str(number): number for number in range(200)})
    grown = PersistentMap[str, int]()
    for number in reversed(range(200)):
        grown = grown.set(str(number), number)
    assert grown == built
    assert grown.set("0", 1) != built
    assert built == {str(number): number for number in range(200)}
