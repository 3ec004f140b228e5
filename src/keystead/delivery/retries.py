"""When a message or a webhook is tried again. Pure.

Not here: the loop that waits and sends (`outbox`).
"""

from __future__ import annotations

from collections.abc import Callable

FIRST_PAUSE_MS = 10_000
PAUSE_MAX_MS = 30 * 60_000


def next_attempt_ms(now_ms: int, failures: int, random_fraction: Callable[[], float]) -> int:
    """When to try again after this many failures (1 or more), in milliseconds since the epoch.

    The pause doubles from ten seconds to half an hour. A random half of it spreads messages that failed together.
    `random_fraction()` gives a number of 0 to 1.
    """
    pause: int = min(FIRST_PAUSE_MS * 2 ** (failures - 1), PAUSE_MAX_MS)
    spread = int(pause / 2 * random_fraction())
    return now_ms + pause // 2 + spread
