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


def measured_bytes(value: object) -> int:
    """The bytes of this value and everything it holds. Equal values have equal sizes.

    None, booleans and members of enumerations exist once and count as nothing. Other shared objects count each
    time. Raises TypeError for a type that records do not hold.
    """
    if isinstance(value, Enum | bool | None):
        return 0
    if isinstance(value, str):
        return _TEXT + len(value) if value.isascii() else _WIDE_TEXT + 4 * len(value)
    if isinstance(value, msgspec.Struct):
        fields = value.__struct_fields__
        return _STRUCT + sum(_POINTER + measured_bytes(getattr(value, name)) for name in fields)
    if isinstance(value, tuple | list):
        return _TUPLE + sum(_POINTER + measured_bytes(each) for each in value)
    if isinstance(value, bytes):
        return _BYTES + len(value)
    if isinstance(value, int):
        return _NUMBER + value.bit_length() // 8
    if isinstance(value, dict):
        members = (measured_bytes(key) + measured_bytes(each) for key, each in value.items())
        return _DICT + sum(_DICT_ENTRY + size for size in members)
    raise TypeError(f"records do not hold values of type {type(value).__name__}")
