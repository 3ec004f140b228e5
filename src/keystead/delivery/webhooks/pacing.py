"""How fast a process delivers to an endpoint that is slow or fails. Pure.

Not here: when one delivery is attempted again (`delivery.retries`).
"""

from __future__ import annotations

import msgspec

from keystead.delivery.webhooks.attempts import AttemptResult, DeliveryAttempt

PROBE_EVERY_MS = 60_000
"""The longest pause between two rounds for an endpoint that keeps failing."""

_FIRST_PAUSE_MS = 1_000
_SLOW_MS = 2_000


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """What a process knows about an endpoint. Times are milliseconds since the epoch.

    `is_proven`: its last attempt was answered. Until then, one delivery is attempted at a time. `is_slow`: it
    failed or took long, so it may use only the slots for such endpoints. `failures`: rounds that failed, one after
    another. `not_before_ms`: nothing is attempted before. `leased_elsewhere_ms`: another process delivers until
    then.
    """

    is_proven: bool = False
    is_slow: bool = False
    failures: int = 0
    not_before_ms: int = 0
    leased_elsewhere_ms: int = 0

    def may_start(self, now_ms: int, *, has_new_deliveries: bool) -> bool:
        """Whether a round may start now. `has_new_deliveries`: deliveries were just written; they wait only while
        the endpoint fails."""
        if now_ms < self.leased_elsewhere_ms:
            return False
        return now_ms >= self.not_before_ms or (has_new_deliveries and not self.failures)

    def after_round(self, attempts: list[DeliveryAttempt], began_ms: int, ended_ms: int) -> Pace:
        """The pace after attempts that were made together."""
        if all(attempt.result is AttemptResult.LATER for attempt in attempts):
            pause = min(_FIRST_PAUSE_MS * 2 ** min(self.failures, 10), PROBE_EVERY_MS)
            return Pace(is_slow=True, failures=self.failures + 1, not_before_ms=ended_ms + pause)
        return Pace(is_proven=True, is_slow=ended_ms - began_ms > _SLOW_MS)
