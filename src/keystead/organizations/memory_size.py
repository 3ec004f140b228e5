"""How much memory a value takes, from the sizes of CPython's objects.

Here: `measured_bytes`. Not here: which values are counted (`record_map`), and the bound of the cache
(`storage.cache`).
"""

from __future__ import annotations

from enum import Enum

import msgspec

_TEXT, _WIDE_TEXT, _BYTES, _NUMBER, _TUPLE, _STRUCT, _DICT, _DICT_ENTRY = 49, 74, 33, 32, 56, 32, 64, 100
"""Bytes of an object without its contents, by type, with the header of the garbage collector if there is one."""

_POINTER = 8

_SHARED_TYPES = (bool, Enum)
"""The types whose values exist once in a process, and therefore count as zero."""


def measured_bytes(value: object) -> int:
    """The bytes of this value and everything in it. Equal values have equal sizes.

    A list counts as a tuple. None, booleans and members of enumerations exist once and count as zero. Other shared
    objects count each time. Raises TypeError for a type that records do not have.
    """
    size, left = 0, [value]
    while left:  # not a recursion, which is slower: each put of a record measures it
        value = left.pop()
        if type(value) is str:
            size += _TEXT + len(value) if value.isascii() else _WIDE_TEXT + 4 * len(value)
        elif isinstance(value, tuple | list):
            size += _TUPLE + _POINTER * len(value)
            left += value
        elif isinstance(value, msgspec.Struct):
            members = msgspec.structs.astuple(value)
            size += _STRUCT + _POINTER * len(members)
            left += members
        elif value is None or isinstance(value, _SHARED_TYPES):
            pass
        elif isinstance(value, bytes):
            size += _BYTES + len(value)
        elif isinstance(value, int):
            size += _NUMBER + value.bit_length() // 8
        elif isinstance(value, dict):
            size += _DICT + _DICT_ENTRY * len(value)
            left += [*value, *value.values()]
        else:
            raise TypeError(f"records do not hold values of type {type(value).__name__}")
    return size
