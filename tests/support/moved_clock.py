"""A clock for server processes that a test can move: the machine's time, plus the time that the test adds.

Here: the clock that the test moves forward, and the program that such a server runs instead of `keystead serve`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

FILE_VARIABLE = "MOVED_CLOCK_FILE"
"""Names the file that says how many milliseconds the clock is ahead of the machine's."""

SERVE = "from tests.support.moved_clock import serve_by_moved_clock; serve_by_moved_clock()"


class MovedClock:
    """Implements `pipeline.ports.Clock`. Several servers may have the same."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._ahead_ms = 0
        self.advance(0)

    def advance(self, seconds: int) -> None:
        """Move the clock of the servers forward by this time."""
        self._ahead_ms += seconds * 1000
        written = self.file.with_suffix(".new")
        written.write_text(str(self._ahead_ms))
        written.replace(self.file)

    def now_ms(self) -> int:
        """Never later than what a server reads afterwards: both read the file."""
        return time.time_ns() // 1_000_000 + int(self.file.read_text())


def serve_by_moved_clock() -> None:
    """`keystead serve`, in this process, whose clock is the file's."""
    from keystead.cli.operator.serving import serve
    from keystead.server.sources import SystemClock

    file = Path(os.environ[FILE_VARIABLE])

    def now_ms(_: SystemClock) -> int:
        return time.time_ns() // 1_000_000 + int(file.read_text())

    # The one place where the server reads the time of day.
    SystemClock.now_ms = now_ms  # type: ignore[method-assign,assignment]
    serve()
