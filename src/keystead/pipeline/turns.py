"""Passing the turn: requests that came together do each part of their work one right after the other.

A request's road runs through more code and tables than a processor's caches hold. Taken alone from its beginning to
its end, it finds none of them there; taken part by part with those beside it, it finds most. So a task passes the
turn between parts that have little in common. What must not be interleaved does not call this.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final


class _NextTurn:
    """Awaited, it lets the event loop bring whatever else is there first: `asyncio.sleep(0)` for less."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield


NEXT_TURN: Final = _NextTurn()
