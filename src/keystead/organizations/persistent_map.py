"""An immutable map. `set` and `delete` return a new map that shares nearly all of the old one.

Here: the data structure, without dependencies. Not here: what an organization keeps in it (`organization`).
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from itertools import chain
from typing import Any, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

_FEW = 64
"""A map of at most this many entries has one dict, because copying it costs less than several dicts."""


class PersistentMap(Mapping[K, V]):
    """Keys must be hashable. Iteration is in no particular order.

    The entries are spread by hash over about sqrt(n) dicts. A look-up reads one of them. A change copies one of
    them and the tuple that holds them, so it takes time in proportion to sqrt(n): at 10,000 entries it copies about
    100 entries and 128 pointers.
    """

    __slots__ = ("_buckets", "_mask", "size")

    _buckets: tuple[dict[K, V], ...]
    _mask: int
    size: int

    def __init__(self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        self._spread(dict(entries))

    def _spread(self, entries: dict[K, V]) -> None:
        self.size = len(entries)
        if self.size <= _FEW:
            self._buckets, self._mask = (entries,), 0
            return
        # A power of two near the square root of the number of entries.
        count = 1 << (self.size.bit_length() // 2)
        mask = count - 1
        buckets: tuple[dict[K, V], ...] = tuple({} for _ in range(count))
        for key, value in entries.items():
            buckets[hash(key) & mask][key] = value
        self._buckets, self._mask = buckets, mask

    def __getitem__(self, key: K) -> V:
        """Raises KeyError where the map has no such key."""
        return self._buckets[hash(key) & self._mask][key]

    @overload
    def get(self, key: K, default: None = None) -> V | None: ...
    @overload
    def get(self, key: K, default: V) -> V: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: Any = None) -> Any:
        return self._buckets[hash(key) & self._mask].get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._buckets[hash(key) & self._mask]

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(self._buckets)

    def values(self) -> ValuesView[V]:
        return _Values(self)

    def items(self) -> ItemsView[K, V]:
        return _Items(self)

    def in_order(self) -> list[V]:
        """The values in the order of their keys."""
        entries: dict[Any, V] = {}
        for bucket in self._buckets:
            entries |= bucket
        return list(map(entries.__getitem__, sorted(entries)))

    def __repr__(self) -> str:
        return f"PersistentMap({dict(self.items())!r})"

    def set(self, key: K, value: V) -> PersistentMap[K, V]:
        """This map with `value` under `key`."""
        return self._with_bucket(key, {**self._buckets[hash(key) & self._mask], key: value})

    def delete(self, key: K) -> PersistentMap[K, V]:
        """This map without `key`. Raises KeyError where the map has no such key."""
        bucket = self._buckets[hash(key) & self._mask].copy()
        del bucket[key]
        return self._with_bucket(key, bucket)

    def _with_bucket(self, key: K, bucket: dict[K, V]) -> PersistentMap[K, V]:
        at = hash(key) & self._mask
        changed: PersistentMap[K, V] = PersistentMap.__new__(PersistentMap)
        changed._buckets = (*self._buckets[:at], bucket, *self._buckets[at + 1 :])
        changed._mask = self._mask
        changed.size = self.size + len(bucket) - len(self._buckets[at])
        buckets = len(self._buckets)
        # Spread again when there are four times as many entries as fit, or a sixteenth: rarely, so that the mean
        # cost of a change stays in proportion to sqrt(n).
        if changed.size > max(_FEW, 4 * buckets * buckets) or changed.size < buckets * buckets // 16:
            changed._spread(dict(changed.items()))
        return changed


class _Values(ValuesView[V]):
    """As the base class, but without a look-up for each value."""

    _mapping: PersistentMap[Any, V]

    def __iter__(self) -> Iterator[V]:
        return chain.from_iterable(map(dict.values, self._mapping._buckets))


class _Items(ItemsView[K, V]):
    _mapping: PersistentMap[K, V]

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return chain.from_iterable(map(dict.items, self._mapping._buckets))
