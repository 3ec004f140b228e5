"""A bounded cache: what was used longest ago is dropped first.

Here: the data structure, for one event loop or thread. Not here: what is cached; each cache belongs to the object
that fills it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Entries whose sizes together are at most `size_max`, and which are at most `entries_max`.

    Sizes are in whatever unit the owner counts: entries, bytes, characters. An entry that does not fit alone is not
    kept; with `keeps_newest` it is, alone, until another is put. `hits` and `misses` count the calls of `get`.
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
        """The value, which is now the one used last."""
        entry = self._entries.get(key)
        if entry is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return entry[0]

    def peek(self, key: K) -> V | None:
        """The value, without a use of it."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def put(self, key: K, value: V, size: int = 1) -> None:
        """Keep the value, in the place of one of the same key, and drop others until all fit."""
        self.remove(key)
        if size > self._size_max and not self._keeps_newest:
            return
        self._entries[key] = value, size
        self.size += size
        while self._is_over() and len(self._entries) > self._keeps_newest:
            _, (_, dropped) = self._entries.popitem(last=False)
            self.size -= dropped

    def remove(self, key: K) -> None:
        """Drop the value, if it is there."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size -= entry[1]

    def clear(self) -> None:
        self._entries.clear()
        self.size = 0

    def _is_over(self) -> bool:
        return self.size > self._size_max or (
            self._entries_max is not None and len(self._entries) > self._entries_max
        )
