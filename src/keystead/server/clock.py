"""The clock of the machine. Not here: the clock of a development server, which can be moved
(`development.clock`)."""

from __future__ import annotations

import time


class SystemClock:
    """Implements `pipeline.ports.ServerClock`."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def caller_times_ms(self) -> tuple[int, ...]:
        return (self.now_ms(),)
