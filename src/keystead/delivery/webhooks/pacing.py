"""How fast a process delivers to an endpoint that is slow or fails. Pure.

Not here: when one delivery is attempted again (`delivery.retries`).
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from keystead.delivery.webhooks.attempts import AttemptResult, DeliveryAttempt
from keystead.failures.pauses import pause_after

PROBE_EVERY_MS = 60_000
"""The longest pause between two rounds for an endpoint that keeps failing, or whose rounds end in errors."""

_FIRST_PAUSE_MS = 1_000
_SLOW_MS = 2_000


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """What a process knows about an endpoint. Times are milliseconds since the epoch.

    `is_proven`: its last attempt was answered. Until then, one delivery is attempted at a time. `is_slow`: it
    failed or took long, so it may use only the slots for such endpoints. `failures`: rounds that failed, one after
    another. `errors`: rounds that ended in an error of this server or of its database, one after another.
    `has_defect`: the last of them was a defect. `not_before_ms`: nothing is attempted before.
    `leased_elsewhere_ms`: another process delivers until then.
    """

    is_proven: bool = False
    is_slow: bool = False
    failures: int = 0
    errors: int = 0
    has_defect: bool = False
    not_before_ms: int = 0
    leased_elsewhere_ms: int = 0

    def may_start(self, now_ms: int, *, has_new_deliveries: bool) -> bool:
        """Whether a round may start now. `has_new_deliveries`: deliveries were just written; they wait only while
        the endpoint fails, or after a defect."""
        if now_ms < self.leased_elsewhere_ms:
            return False
        return now_ms >= self.not_before_ms or (has_new_deliveries and not self.failures and not self.has_defect)

    def after_round(self, attempts: list[DeliveryAttempt], began_ms: int, ended_ms: int) -> Pace:
        """The pace after attempts that were made together. Those that ended in a defect of this server say nothing
        about the endpoint, except how long they took."""
        took_long = ended_ms - began_ms > _SLOW_MS
        results = [attempt.result for attempt in attempts if attempt.result is not AttemptResult.DEFECT]
        if not results:
            return replace(self, is_slow=self.is_slow or took_long)
        if all(result is AttemptResult.LATER for result in results):
            failures = self.failures + 1
            pause_ms = pause_after(failures, _FIRST_PAUSE_MS, PROBE_EVERY_MS)
            return Pace(is_slow=True, failures=failures, not_before_ms=ended_ms + pause_ms)
        return Pace(is_proven=True, is_slow=took_long)

    def after_error(self, now_ms: int, *, is_defect: bool) -> Pace:
        """The pace after a round that ended in an error of this server or of its database."""
        errors = self.errors + 1
        not_before_ms = now_ms + pause_after(errors, _FIRST_PAUSE_MS, PROBE_EVERY_MS)
        return replace(self, errors=errors, has_defect=is_defect, not_before_ms=not_before_ms)

    def after_no_error(self) -> Pace:
        """The pace after a round without such an error."""
        return replace(self, errors=0, has_defect=False) if self.errors else self
