"""The sources of a server's time, identifiers and random bytes: the machine's clock and randomness.

A development server has others: its clock can be moved, and with a seed every run has the same identifiers and
keys. Not here: that clock (`development.clock`), that seed (`development.seeding`).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

import msgspec

from keystead.api.identifiers import new_id
from keystead.pipeline.ports import ServerClock


class SystemClock:
    """Implements `pipeline.ports.ServerClock`."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def caller_times_ms(self) -> tuple[int, ...]:
        return (self.now_ms(),)


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """`new_id` makes a UUID whose text sorts after the earlier ones. `entropy(n)` returns n random bytes for new
    keys."""

    clock: ServerClock
    new_id: Callable[[], str] = new_id
    entropy: Callable[[int], bytes] = secrets.token_bytes


SYSTEM_SOURCES = Sources(clock=SystemClock())
