"""/dev/v1/clock: the server's clock, which a developer may set, advance, freeze and resume.

Here: the clock of the whole development server, and its control. Timeouts of connections and rate limits do not use
this clock: they use the time that really passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from keystead.api.developer_controls import CLOCK, YEAR_10000_MS, ClockState, ClockUpdate
from keystead.api.errors import InvalidRequest
from keystead.server.development.control import ServedControl


class DevelopmentClock:
    """Implements `pipeline.ports.ServerClock`. `system_ns`: the clock of the machine, in nanoseconds since the
    epoch."""

    def __init__(self, system_ns: Callable[[], int] = time.time_ns) -> None:
        self._system_ns = system_ns
        self.reset()

    def reset(self) -> None:
        self._ahead_ms = 0
        self._frozen_at_ms: int | None = None
        self._is_system_time_accepted = True

    def now_ms(self) -> int:
        if self._frozen_at_ms is not None:
            return self._frozen_at_ms
        return self._system_ns() // 1_000_000 + self._ahead_ms

    def _system_ms(self) -> int:
        return self._system_ns() // 1_000_000

    def caller_times_ms(self) -> tuple[int, ...]:
        if not self._is_system_time_accepted:
            return (self.now_ms(),)
        return self.now_ms(), self._system_ms()

    def state(self) -> ClockState:
        return ClockState(
            now_ms=self.now_ms(),
            system_ms=self._system_ms(),
            frozen=self._frozen_at_ms is not None,
            system_time_accepted=self._is_system_time_accepted,
        )

    async def change(self, change: ClockUpdate) -> ClockState:
        """Raises InvalidRequest for a time outside of the years 1970 to 9999."""
        now_ms = change.now_ms
        if now_ms is None:
            now_ms = self._system_ms() if change.system else self.now_ms()
        now_ms += change.advance_ms or 0
        if not 0 <= now_ms < YEAR_10000_MS:
            raise InvalidRequest("field `advanceMs`: the clock would leave the years 1970 to 9999")
        is_frozen = change.frozen
        if is_frozen is None:
            is_frozen = self._frozen_at_ms is not None and not change.system
        self._frozen_at_ms = now_ms if is_frozen else None
        is_moved = change.now_ms is not None or change.advance_ms or not change.system
        self._ahead_ms = now_ms - self._system_ms() if is_moved else 0
        if change.system_time_accepted is not None:
            self._is_system_time_accepted = change.system_time_accepted
        return self.state()

    def control(self) -> ServedControl:
        return ServedControl(declared=CLOCK, read=self.state, change=self.change)
