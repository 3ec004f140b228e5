"""What comes at about the same time is passed on together: commits, to share a transaction, calls of the signer,
whose process is then woken once, and lines of the log.

While the event loop still brings more, those who are here wait for those who are on their way; and a little for
those who have said that they come: whose stamp is being verified, say, or who wait for the signer. Once neither is
left, nobody waits. Not here: what they are passed on to (`storage`, `vault`, `server`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

T = TypeVar("T")

TOGETHER_MAX: Final = 32
"""So many do not wait for more: the first has waited long enough, and more together save little."""

PATIENCE_S: Final = 0.02
"""So long those who are here wait, at most, for those who have said that they come: as some signatures take."""


class Coming:
    """Somebody who is worth waiting for, until the end of the block; or before, once they have been added or have
    something else to wait for."""

    __slots__ = ("_end",)

    def __init__(self, end: Callable[[Coming], None]) -> None:
        self._end = end

    def end(self) -> None:
        """Done more than once, it changes nothing."""
        self._end(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._end(self)


class Arrivals(Generic[T]):
    """Belongs to one event loop, on which `pass_on` is called too."""

    def __init__(self, pass_on: Callable[[Sequence[T]], None]) -> None:
        self._pass_on = pass_on
        self._here: list[T] = []
        self._coming = set[Coming]()
        self._awaited = set[Coming]()
        """Those of them for whom those who are here wait: not for who sets out later, or it would never end."""
        self._patience: asyncio.TimerHandle | None = None

    def add(self, one: T) -> None:
        self._here.append(one)
        if len(self._here) == 1:
            self._look_again(0)
        elif len(self._here) == TOGETHER_MAX:
            self.pass_on()

    def coming(self) -> Coming:
        """Somebody is about to be added."""
        one = Coming(self._ended)
        self._coming.add(one)
        return one

    def pass_on(self) -> None:
        """All that are here, now."""
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
            self._awaited = set()
        if self._here:
            here, self._here = self._here, []
            self._pass_on(here)

    def _ended(self, one: Coming) -> None:
        self._coming.discard(one)
        if one in self._awaited:
            self._awaited.remove(one)
            if not self._awaited:
                self.pass_on()

    def _look_again(self, seen: int) -> None:
        asyncio.get_running_loop().call_soon(self._looked, self._here, seen)

    def _looked(self, looked_at: list[T], seen: int) -> None:
        if looked_at is not self._here:  # passed on meanwhile, and others are looked at for themselves
            return
        if len(looked_at) > seen:
            self._look_again(len(looked_at))
        elif self._coming:
            self._awaited = self._coming.copy()
            self._patience = asyncio.get_running_loop().call_later(PATIENCE_S, self.pass_on)
        else:
            self.pass_on()
