"""Recursive length prefix: Ethereum's nesting of byte strings, read so that each value has one encoding.

Here: strict decoding in linear time and bounded depth, and encoding. Not here: what the items mean. The usual
library is not used, because it copies the input once for each level of nesting: half a megabyte of nested lists
takes half a gigabyte of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from keystead.chains.bounds import RLP_DEPTH_MAX

Item: TypeAlias = "bytes | list[Item]"


_STRING, _LIST, _SHORT_MAX = 0x80, 0xC0, 55


class NotRlp(ValueError):
    """The bytes are not RLP, or not in its canonical form. The message says why."""


def decode(data: bytes) -> Item:
    """The item that `data` encodes. Raises NotRlp for bytes after the item, and for an encoding that is not the
    shortest."""
    item, end = _item(data, 0, len(data), 0)
    if end != len(data):
        raise NotRlp(f"{len(data) - end} bytes follow the end")
    return item


def _item(data: bytes, at: int, limit: int, depth: int) -> tuple[Item, int]:
    if at >= limit:
        raise NotRlp("the bytes end too early")
    first = data[at]
    if first < _STRING:
        return data[at : at + 1], at + 1
    is_list = first >= _LIST
    size = first - (_LIST if is_list else _STRING)
    start = at + 1
    if size > _SHORT_MAX:
        width = size - _SHORT_MAX
        length_bytes = data[start : min(start + width, limit)]
        start += width
        size = int.from_bytes(length_bytes)
        if len(length_bytes) < width:
            raise NotRlp(f"the length at byte {at} is cut short")
        if length_bytes[0] == 0 or size <= _SHORT_MAX:
            raise NotRlp(f"the length at byte {at} is not in its shortest form")
    end = start + size
    if end > limit:
        raise NotRlp(f"the item at byte {at} ends after the list or the data that contains it")
    if not is_list:
        if size == 1 and data[start] < _STRING:
            raise NotRlp(f"the item at byte {at} is not in its shortest form")
        return data[start:end], end
    if depth == RLP_DEPTH_MAX:
        raise NotRlp(f"lists are nested more than {RLP_DEPTH_MAX} deep")
    items: list[Item] = []
    while start < end:
        item, start = _item(data, start, end, depth + 1)
        items.append(item)
    return items, end


def encode(item: bytes | Sequence[Item]) -> bytes:
    """The canonical encoding of the item."""
    if isinstance(item, bytes):
        if len(item) == 1 and item[0] < _STRING:
            return item
        return _prefix(len(item), _STRING) + item
    payload = b"".join(map(encode, item))
    return _prefix(len(payload), _LIST) + payload


def _prefix(size: int, base: int) -> bytes:
    if size <= _SHORT_MAX:
        return bytes([base + size])
    length_bytes = integer(size)
    return bytes([base + _SHORT_MAX + len(length_bytes)]) + length_bytes


def integer(value: int) -> bytes:
    """A non-negative integer as RLP writes it: big-endian, no leading zero, zero as no bytes."""
    return value.to_bytes((value.bit_length() + 7) // 8)
