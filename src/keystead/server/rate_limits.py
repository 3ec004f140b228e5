"""Rate limits: of the requests of each organization, and of the failed authentications of each address.

A request counts for its organization only after its stamp was verified, so nobody can use up the limit of another
organization. For an address, only requests whose sender stays unknown count. Each process counts by itself.
"""

from __future__ import annotations

import math

from keystead.api.errors import LimitReached
from keystead.primitives.lru import Lru

BUCKETS_MAX = 100_000
"""Most organizations, or addresses, that a limit remembers. The one that was counted longest ago is dropped
first."""


class RateLimited(LimitReached):
    """Too many requests. After `retry_after_s` whole seconds the next one is accepted."""

    default_machine_code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"Too many requests. Please wait and try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class RateLimit:
    """Token buckets: for each key `per_second` requests on average, and at most as many at once. 0: no limit.

    Times are monotonic, in seconds.
    """

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._buckets = Lru[str, tuple[float, float]](BUCKETS_MAX)

    def check(self, key: str, now_s: float) -> None:
        """Raise RateLimited if there is no token."""
        if self._per_second and (tokens := self._tokens(key, now_s)) < 1:
            raise RateLimited(math.ceil((1 - tokens) / self._per_second))

    def spend(self, key: str, now_s: float) -> None:
        """Take a token. Raises RateLimited if there is none."""
        if not self._per_second:
            return
        self.check(key, now_s)
        self._buckets.put(key, (self._tokens(key, now_s) - 1, now_s))

    def _tokens(self, key: str, now_s: float) -> float:
        tokens, since_s = self._buckets.peek(key) or (float(self._per_second), now_s)
        return min(self._per_second, tokens + (now_s - since_s) * self._per_second)


class FailureLimit:
    """The limit of failed requests of each address. Addresses with the key "" are not limited
    (`Connections.limit_key`)."""

    def __init__(self, per_second: int) -> None:
        self._requests = RateLimit(per_second)
        self._log_lines = RateLimit(1)

    def check(self, limit_key: str, now_s: float) -> None:
        """Call before a request's stamp is verified. Raises RateLimited if too many requests of the address have
        failed."""
        if limit_key:
            self._requests.check(limit_key, now_s)

    def count(self, limit_key: str, now_s: float) -> bool:
        """Count a request that failed before its sender was known. Returns whether to log it: of an address over
        its limit, one request a second is logged."""
        if not limit_key:
            return True
        try:
            self._requests.spend(limit_key, now_s)
        except RateLimited:
            return _is_free(self._log_lines, limit_key, now_s)
        return True


def _is_free(limit: RateLimit, key: str, now_s: float) -> bool:
    try:
        limit.spend(key, now_s)
    except RateLimited:
        return False
    return True
