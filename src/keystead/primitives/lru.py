"""A bounded cache that drops the least recently used entries first.

Here: the data structure, for one event loop or thread. Not here: what is cached. Each cache belongs to the object
that fills it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """At most `entries_max` entries, with at most `size_max` as the sum of their sizes.

    The owner chooses the unit of sizes: entries, bytes or characters. An entry that is larger than `size_max` is
    not kept; with `keeps_newest` it is kept alone until the next `put`. `hits` and `misses` count the calls of
    `get`.
    """

    __slots__ = ("_entries", "_entries_max", "_keeps_newest", "_size_max", "hits", "misses", "size")

    def __init__(self, size_max: int, entries_max: int | None = None, *, keeps_newest: bool = False) -> None:
        self._size_max = size_max
        self._entries_max = entries_max
        self._keeps_newest = keeps_newest
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.size = 0
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value, whose entry is now the most recently used; None if the key has no entry."""
        entry = self._entries.get(key)
        if entry is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return entry[0]

    def peek(self, key: K) -> V | None:
        """The value, without a change of the order; None if the key has no entry."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def put(self, key: K, value: V, size: int = 1) -> None:
        """Put the value under the key, and drop the least recently used entries until all fit."""
        entries, before = self._entries, self._entries.pop(key, None)
        if before is not None:
            self.size -= before[1]
        if size > self._size_max and not self._keeps_newest:
            return
        entries[key] = value, size
        self.size += size
        entries_max = self._entries_max
        while (self.size > self._size_max or (entries_max is not None and len(entries) > entries_max)) and len(
            entries
        ) > self._keeps_newest:
            _, (_, dropped) = entries.popitem(last=False)
            self.size -= dropped

    def remove(self, key: K) -> None:
        """Drop the entry of this key, if there is one."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size -= entry[1]

    def clear(self) -> None:
        self._entries.clear()
        self.size = 0
