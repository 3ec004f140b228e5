"""The values that were used last, as many as fit a number of bytes.

Here: the cache, and how much memory a value takes. Not here: who owns one; a module never does.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Hashable
from enum import Enum
from typing import Any, Final, Generic, TypeVar

import msgspec

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

ENTRY_BYTES: Final = 200
"""Of the cache itself, for each entry: its place in the map and in the order of use."""


class BoundedCache(Generic[KeyT, ValueT]):
    """Drops the value that has not been used for the longest time, until all fit. Values must not change.

    `hits` and `misses` count the calls of `get`; `bytes_held` is what keys and values take, as `memory_bytes` says.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._entries: OrderedDict[KeyT, tuple[ValueT, int]] = OrderedDict()
        self.bytes_held = self.hits = self.misses = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: KeyT) -> ValueT | None:
        entry = self._entries.get(key)
        if entry is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: KeyT, value: ValueT) -> None:
        """Keep a value in place of the one that this key had. A value that does not fit alone is not kept."""
        _, before = self._entries.pop(key, (None, 0))
        self.bytes_held -= before
        size = ENTRY_BYTES + memory_bytes(key) + memory_bytes(value)
        if size > self._bytes_max:
            return
        self._entries[key] = (value, size)
        self.bytes_held += size
        while self.bytes_held > self._bytes_max:
            _, (_, dropped) = self._entries.popitem(last=False)
            self.bytes_held -= dropped


def memory_bytes(value: Any) -> int:
    """What a value and everything that it refers to take in memory. What is referred to twice counts once.

    Classes, functions and members of enumerations, which live as long as the program, count nothing.
    """
    seen: set[int] = set()
    total, left = 0, [value]
    while left:
        one = left.pop()
        if one is None or id(one) in seen or isinstance(one, Enum | type) or callable(one):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        if isinstance(one, dict):
            left.extend(one.keys())
            left.extend(one.values())
        elif isinstance(one, tuple | list | set | frozenset):
            left.extend(one)
        elif isinstance(one, msgspec.Struct):
            left.extend(getattr(one, name) for name in one.__struct_fields__)
        elif hasattr(one, "__dict__"):
            left.append(one.__dict__)
    return total
