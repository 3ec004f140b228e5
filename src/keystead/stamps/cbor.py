"""Whether CBOR is of the plain kind that authenticators write, before a general decoder reads it.

Here: the subset of RFC 8949 that CTAP2 allows (its section "Message Encoding"): no tags, definite lengths, integers
and texts as keys of maps, little nesting. Not here: what the items mean (`ceremony`, `attestation`, `cose`).

A general decoder interprets tags: for some it compiles a regular expression or parses mail. With shared references,
200 bytes can stand for a value that takes days to hash. No authenticator writes tags.
"""

from __future__ import annotations

from enum import IntEnum
from typing import assert_never

from keystead.stamps.bounds import CBOR_NESTING_MAX


class _MajorType(IntEnum):
    """Major types. SIMPLE: false, true, null, floating-point numbers."""

    UNSIGNED = 0
    NEGATIVE = 1
    BYTES = 2
    TEXT = 3
    ARRAY = 4
    MAP = 5
    TAG = 6
    SIMPLE = 7


_KEY_KINDS = frozenset((_MajorType.UNSIGNED, _MajorType.NEGATIVE, _MajorType.BYTES, _MajorType.TEXT))


def plain_item_end(data: bytes, start: int = 0) -> int:
    """The position after the item that begins at `start`. Time and memory are linear in the bytes read.

    Raises ValueError if the item is not of the plain kind, or is incomplete.
    """
    position = start
    # For each open container: how many items are still to be read. The keys of a map count, too.
    open_items = [1]
    maps = [False]
    while open_items:
        if open_items[-1] == 0:
            open_items.pop()
            maps.pop()
            continue
        is_key = maps[-1] and open_items[-1] % 2 == 0
        open_items[-1] -= 1
        kind, value, position = _head(data, position)
        if is_key and kind not in _KEY_KINDS:
            raise ValueError("CBOR: a key of a map must be an integer, a text or bytes")
        match kind:
            case _MajorType.BYTES | _MajorType.TEXT:
                position += value
                if position > len(data):
                    raise ValueError("CBOR: it ends too early")
            case _MajorType.ARRAY | _MajorType.MAP:
                if len(open_items) > CBOR_NESTING_MAX:
                    raise ValueError(f"CBOR: nested deeper than {CBOR_NESTING_MAX} levels")
                open_items.append(2 * value if kind is _MajorType.MAP else value)
                maps.append(kind is _MajorType.MAP)
            case _MajorType.TAG:
                raise ValueError("CBOR: tags are not allowed")
            case _MajorType.UNSIGNED | _MajorType.NEGATIVE | _MajorType.SIMPLE:
                pass
            case _:
                assert_never(kind)
    return position


def _head(data: bytes, position: int) -> tuple[_MajorType, int, int]:
    """Major type and argument of the item at `position`, and where its content begins (RFC 8949, section 3)."""
    if position >= len(data):
        raise ValueError("CBOR: it ends too early")
    kind, information = _MajorType(data[position] >> 5), data[position] & 0x1F
    position += 1
    if information < 24:
        return kind, information, position
    if information > 27:
        raise ValueError("CBOR: lengths must be definite")
    size = 1 << (information - 24)
    if position + size > len(data):
        raise ValueError("CBOR: it ends too early")
    return kind, int.from_bytes(data[position : position + size], "big"), position + size
