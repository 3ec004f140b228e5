"""How much memory a value takes, from the sizes of CPython's objects.

Here: `measured_bytes`. Not here: which values are counted (`record_map`), and what is done about it
(`storage.cache`).
"""

from __future__ import annotations

from enum import Enum

import msgspec

_TEXT, _WIDE_TEXT, _BYTES, _NUMBER, _TUPLE, _STRUCT, _DICT, _DICT_ENTRY = 49, 74, 33, 32, 56, 32, 64, 100
"""Bytes of an object without its contents, by type, with the header of the garbage collector where it has one."""

_POINTER = 8

# Tuples of types: `A | B` would make a new object at each call.
_KEPT_ONCE = (Enum, bool)
_SEQUENCES = (tuple, list)


def measured_bytes(value: object) -> int:
    """The bytes of this value and everything it holds. Equal values have equal sizes.

    None, booleans and members of enumerations exist once and count as nothing. Other shared objects count each
    time. Raises TypeError for a type that records do not hold.
    """
    if value is None or isinstance(value, _KEPT_ONCE):
        return 0
    if isinstance(value, str):
        return _TEXT + len(value) if value.isascii() else _WIDE_TEXT + 4 * len(value)
    if isinstance(value, msgspec.Struct):
        fields = [getattr(value, name) for name in value.__struct_fields__]
        return _STRUCT + _POINTER * len(fields) + sum(map(measured_bytes, fields))
    if isinstance(value, _SEQUENCES):
        return _TUPLE + _POINTER * len(value) + sum(map(measured_bytes, value))
    if isinstance(value, bytes):
        return _BYTES + len(value)
    if isinstance(value, int):
        return _NUMBER + value.bit_length() // 8
    if isinstance(value, dict):
        entries = sum(map(measured_bytes, value)) + sum(map(measured_bytes, value.values()))
        return _DICT + _DICT_ENTRY * len(value) + entries
    raise TypeError(f"records do not hold values of type {type(value).__name__}")
