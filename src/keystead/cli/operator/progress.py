"""Shows the progress of a long command: one line on the terminal, which is overwritten. Without a terminal,
nothing."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final, Self

_PERIOD_S: Final = 0.1
_CLEAR: Final = "\r\x1b[K"


class ProgressLine:
    """A line on standard error. Leaving the block removes it."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._next_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_shown:
            print(_CLEAR, end="", file=sys.stderr, flush=True)

    def show(self, text: str) -> None:
        """Show the text, at most ten times a second."""
        if self._is_shown and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _PERIOD_S
            print(f"{_CLEAR}{text}", end="", file=sys.stderr, flush=True)
