"""What comes at about the same time is passed on together: commits, to share a transaction, calls of the signer,
whose process is then woken once, and lines of the log.

While the event loop still brings more, those who are here wait for those who are on their way; once it brings none,
nobody waits. Not here: what they are passed on to (`storage`, `vault`, `server`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

T = TypeVar("T")

TOGETHER_MAX: Final = 32
"""So many do not wait for more: the first has waited long enough, and more together save little."""


class Arrivals(Generic[T]):
    """Belongs to one event loop, on which `pass_on` is called too."""

    def __init__(self, pass_on: Callable[[Sequence[T]], None]) -> None:
        self._pass_on = pass_on
        self._here: list[T] = []

    def add(self, one: T) -> None:
        self._here.append(one)
        if len(self._here) == 1:
            self._look_again(0)
        elif len(self._here) == TOGETHER_MAX:
            self.pass_on()

    def pass_on(self) -> None:
        """All that are here, now."""
        if self._here:
            here, self._here = self._here, []
            self._pass_on(here)

    def _look_again(self, seen: int) -> None:
        asyncio.get_running_loop().call_soon(self._looked, self._here, seen)

    def _looked(self, looked_at: list[T], seen: int) -> None:
        if looked_at is not self._here:  # passed on meanwhile, and others are looked at for themselves
            return
        if len(looked_at) > seen:
            self._look_again(len(looked_at))
        else:
            self.pass_on()
