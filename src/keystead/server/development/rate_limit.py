"""/dev/v1/rate-limit: a limit on the requests of all callers together, to test how a client handles HTTP 429.

The limits of the settings are others: they count the requests of each organization, credential and address.
"""

from __future__ import annotations

import time

from keystead.api.developer_controls import RATE_LIMIT, RateLimitState, RateLimitUpdate
from keystead.server.development.control import ServedControl
from keystead.server.limits.rate_limits import RateLimit
from keystead.server.limits.rate_table import RateTable


class ChosenRateLimit:
    """`per_second`: the requests per second that may come; 0 for no limit."""

    def __init__(self) -> None:
        self._table = RateTable()
        self.clear()

    def clear(self) -> None:
        self.per_second = 0
        self._limit = RateLimit("chosen", 0, self._table)

    def spend(self) -> None:
        """Count a request. Raises RateLimited."""
        self._limit.spend("", time.monotonic())

    def state(self) -> RateLimitState:
        return RateLimitState(per_second=self.per_second)

    async def change(self, change: RateLimitUpdate) -> RateLimitState:
        self.per_second = change.per_second
        self._table = RateTable()
        self._limit = RateLimit("chosen", change.per_second, self._table)
        return self.state()

    def control(self) -> ServedControl:
        return ServedControl(declared=RATE_LIMIT, read=self.state, change=self.change)
