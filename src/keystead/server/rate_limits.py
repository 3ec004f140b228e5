"""How many requests a second one organization may send to one process: a bucket of tokens each.

Counted once the stamp has proved a user, so that nobody can spend another organization's share.
"""

from __future__ import annotations

import math
from collections import OrderedDict

from keystead.api.errors import LimitReached

BUCKETS_MAX = 100_000


class RateLimited(LimitReached):
    """Too many requests; `retry_after_s` whole seconds until there is room again."""

    default_machine_code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"Too many requests. Please wait and try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class RateLimit:
    """`per_second` requests on average, and as many at once. 0: no limit."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, organization_id: str, now_s: float) -> None:
        """Take one request's token. `now_s`: a monotonic time. Raises RateLimited if there is none."""
        if not self._per_second:
            return
        tokens, since_s = self._buckets.pop(organization_id, (float(self._per_second), now_s))
        tokens = min(self._per_second, tokens + (now_s - since_s) * self._per_second)
        self._buckets[organization_id] = (max(tokens - 1, 0) if tokens >= 1 else tokens, now_s)
        if len(self._buckets) > BUCKETS_MAX:
            self._buckets.popitem(last=False)
        if tokens < 1:
            raise RateLimited(math.ceil((1 - tokens) / self._per_second))
