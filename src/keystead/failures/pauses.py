"""How long to wait after failures in a row. Pure.

Not here: counting the failures (`rounds`, `delivery.webhooks.pacing`), logging them (`defects`).
"""

from __future__ import annotations

from typing import TypeVar

TimeT = TypeVar("TimeT", int, float)

_DOUBLINGS_MAX = 30


def pause_after(failures: int, first: TimeT, most: TimeT) -> TimeT:
    """The pause after this many failures in a row (1 or more): `first`, doubled after each further failure, at most
    `most`."""
    pause: TimeT = min(first * 2 ** min(failures - 1, _DOUBLINGS_MAX), most)
    return pause
