"""An index of records by a value that several records may have: from the value to their ids, oldest first.

Not here: which values a record kind indexes (`kinds`).
"""

from __future__ import annotations

from bisect import bisect_left

from keystead.organizations.persistent_map import PersistentMap

ValueIndex = PersistentMap[str, tuple[str, ...]]


def with_id(index: ValueIndex, value: str, id_: str) -> ValueIndex:
    """The index in which the record of this id has the value. Ids sort by time of creation."""
    ids = index.get(value, ())
    at = bisect_left(ids, id_)
    # With `+`, a slice that is the whole tuple or empty is not copied: new ids come last.
    return index.set(value, ids[:at] + (id_,) + ids[at:])  # noqa: RUF005


def without_id(index: ValueIndex, value: str, id_: str) -> ValueIndex:
    """The index in which the record of this id no longer has the value. The record must have it."""
    ids = index[value]
    at = bisect_left(ids, id_)
    others = ids[:at] + ids[at + 1 :]
    return index.set(value, others) if others else index.delete(value)
