"""The mark of a value that is there and cannot be known.

Here: one type. Not here: what policies make of it (`policies`), which facts have it (`chains`).
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

ValueT = TypeVar("ValueT")


class Unreadable(msgspec.Struct, frozen=True):
    """Stands where a value would stand that cannot be read from what a caller asks for.

    `reason`: why, in words for the people who read a decision, such as "the accounts of a lookup table are on the
    chain". No other value, such as an empty text or a zero, stands for something unknown.

    `literal`: the word that the documentation of the public API has for such a value, such as ADDRESS_TABLE_LOOKUP.
    The value equals this literal. Whether it equals anything else is unknown.
    """

    reason: str
    literal: str | int | None = None


def known(value: ValueT | Unreadable) -> ValueT | None:
    """The value, or None if it is unreadable. For texts that people read, not for decisions."""
    return None if isinstance(value, Unreadable) else value
