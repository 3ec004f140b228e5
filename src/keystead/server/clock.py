"""The clock of a server that runs in earnest. Not here: the clock that a developer moves (`development.clock`)."""

from __future__ import annotations

import time


class SystemClock:
    """Implements `pipeline.ports.ServerClock`."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def caller_times_ms(self) -> tuple[int, ...]:
        return (self.now_ms(),)
