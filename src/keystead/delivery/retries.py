"""When a failed message is sent again. Pure.

Not here: the loop that waits and sends (`outbox`).
"""

from __future__ import annotations

from collections.abc import Callable

from keystead.failures.pauses import pause_after

FIRST_PAUSE_MS = 10_000
PAUSE_MAX_MS = 30 * 60_000


def next_attempt_ms(now_ms: int, failures: int, random_fraction: Callable[[], float]) -> int:
    """When to try again after this many failures (1 or more), in milliseconds since the epoch.

    The pause doubles from ten seconds to half an hour. Up to half of it is random, to spread messages that failed
    together. `random_fraction()` returns a number from 0 to 1.
    """
    pause = pause_after(failures, FIRST_PAUSE_MS, PAUSE_MAX_MS)
    spread = int(pause / 2 * random_fraction())
    return now_ms + pause // 2 + spread
