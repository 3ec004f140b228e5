"""How many requests a second there may be: of each organization, and of each address that fails to authenticate.

An organization's requests are counted once the stamp has proved a user, so nobody can spend another's share. An
address has a share of failures only: requests whose sender stays unknown. Each process counts for itself.
"""

from __future__ import annotations

import math
from collections import OrderedDict

from keystead.api.errors import LimitReached

BUCKETS_MAX = 100_000
"""The most organizations, or addresses, that are remembered; the one that was counted longest ago is forgotten."""


class RateLimited(LimitReached):
    """Too many requests; `retry_after_s` whole seconds until there is room again."""

    default_machine_code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"Too many requests. Please wait and try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class RateLimit:
    """Token buckets: `per_second` on average for each key, and as many at once. 0: no limit.

    Times are monotonic, in seconds.
    """

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, key: str, now_s: float) -> None:
        """Raises RateLimited if there is no token."""
        if self._per_second and (tokens := self._tokens(key, now_s)) < 1:
            raise RateLimited(math.ceil((1 - tokens) / self._per_second))

    def spend(self, key: str, now_s: float) -> None:
        """Take a token. Raises RateLimited if there is none."""
        if not self._per_second:
            return
        self.check(key, now_s)
        tokens = self._tokens(key, now_s)
        self._buckets.pop(key, None)
        self._buckets[key] = (tokens - 1, now_s)
        if len(self._buckets) > BUCKETS_MAX:
            self._buckets.popitem(last=False)

    def _tokens(self, key: str, now_s: float) -> float:
        tokens, since_s = self._buckets.get(key, (float(self._per_second), now_s))
        return min(self._per_second, tokens + (now_s - since_s) * self._per_second)


class FailureLimit:
    """Failures of each address, "" for one that is not counted (`Connections.limit_key`)."""

    def __init__(self, per_second: int) -> None:
        self._requests = RateLimit(per_second)
        self._log_lines = RateLimit(1)

    def check(self, limit_key: str, now_s: float) -> None:
        """Before a request's stamp is looked at. Raises RateLimited if too many of the address's have failed."""
        if limit_key:
            self._requests.check(limit_key, now_s)

    def count(self, limit_key: str, now_s: float) -> bool:
        """A request has failed before its sender was known; whether it is worth a line in the log: of an address
        over its limit, one a second is."""
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
