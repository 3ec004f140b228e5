"""After which failures a request is sent again, when, and how many times.

Every try sends the same bytes, which the server recognizes by their fingerprint, so nothing happens twice. Not
here: sending and waiting (`client`).
"""

from __future__ import annotations

import random

import msgspec

from keystead.client.errors import ApiError, ConnectionFailed, KeysteadError, RequestTimedOut, UsageError

RETRIED_STATUSES = frozenset({429, 502, 503, 504})


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How many times one request is sent, and for how long.

    tries: the most tries, with the first; 1 means no repetition. deadline_s: seconds after the first try until
    which all tries must end. pause_s: seconds before the second try; each further pause is twice as long, up to
    pause_max_s, and a random part of up to one half is subtracted. If the server sends Retry-After, the next try
    waits at least as long.
    """

    tries: int = 3
    deadline_s: float = 60.0
    pause_s: float = 0.25
    pause_max_s: float = 5.0

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise UsageError(f"retries: `tries` must be 1 or more, got {self.tries}")
        if not self.deadline_s > 0:
            raise UsageError(f"retries: `deadline_s` must be above 0, got {self.deadline_s}")


class Tries:
    """The tries of one request. Times are seconds of a monotonic clock."""

    def __init__(self, retries: Retries, now_s: float) -> None:
        self._retries = retries
        self._deadline_s = now_s + retries.deadline_s
        self._failed = 0

    def time_left_s(self, now_s: float) -> float:
        """Seconds until the deadline. Never 0, because a time-out of 0 may mean no time-out."""
        return max(self._deadline_s - now_s, 0.001)

    def pause_after(self, failure: KeysteadError, now_s: float) -> float | None:
        """Seconds to wait before the next try, or None if `failure` is final."""
        self._failed += 1
        if self._failed >= self._retries.tries or not _is_temporary(failure):
            return None
        pause_s = min(self._retries.pause_s * 2 ** min(self._failed - 1, 20), self._retries.pause_max_s)
        pause_s *= random.uniform(0.5, 1)  # noqa: S311  not a secret
        if isinstance(failure, ApiError) and failure.retry_after_s is not None:
            pause_s = max(pause_s, failure.retry_after_s)
        return pause_s if now_s + pause_s < self._deadline_s else None


def _is_temporary(failure: KeysteadError) -> bool:
    if isinstance(failure, ApiError):
        return failure.http_status in RETRIED_STATUSES
    return isinstance(failure, (ConnectionFailed, RequestTimedOut))
