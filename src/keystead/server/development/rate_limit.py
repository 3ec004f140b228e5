"""/dev/v1/rate-limit: a limit on the requests of all callers together, to test how a client handles HTTP 429.

The limits of the settings are others: they count the requests of each organization, credential and address.
"""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta

from keystead.server.development.control import Control, ControlAnswer, ControlRequest
from keystead.server.limits.rate_limits import RateLimit
from keystead.server.limits.rate_table import RateTable


class RateLimitState(ControlAnswer, frozen=True):
    """`per_second`: 0 for no limit."""

    per_second: int


class RateLimitUpdate(ControlRequest, frozen=True):
    """per_second: the requests per second on average, and the most that may come at once. 0: no limit."""

    per_second: Annotated[int, Meta(ge=0, le=1_000_000)]


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

    def control(self) -> Control:
        return Control(name="rate-limit", read=self.state, change=self.change, change_type=RateLimitUpdate)
