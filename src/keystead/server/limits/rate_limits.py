"""Rate limits: of the requests of each organization and credential, and of the failed requests of each address.

A request counts for its organization and credential only after its stamp was verified, so nobody can use up the
limit of another. For an address, only requests whose sender stays unknown count. The processes of a machine count
together (`rate_table`).
"""

from __future__ import annotations

import math
from typing import Literal

from keystead.api.errors import LimitReached
from keystead.organizations.principals import Principal
from keystead.server.limits.rate_table import RateTable

LimitName = Literal["organization", "credential", "address", "log_lines", "auth_proxy", "chosen"]
"""The subject of a limit. The names are labels of a metric."""

_SECOND_NS = 1_000_000_000


class RateLimited(LimitReached):
    """Too many requests. If no other request of the same limit comes, one is accepted after `retry_after_s` whole
    seconds."""

    default_machine_code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, limit: LimitName, retry_after_s: int) -> None:
        super().__init__(f"Too many requests. Please wait and try again in {retry_after_s} s")
        self.limit = limit
        self.retry_after_s = retry_after_s


class RateLimit:
    """For each key, `per_second` requests per second on average, and at most that many at once. 0: no limit.

    The table stores a moment for each key. A request sets it to 1/`per_second` after the present time, or after the
    stored moment if that is later. A request that would set it more than a second ahead is refused and changes
    nothing. This is the generic cell rate algorithm. Times are monotonic, in seconds.
    """

    def __init__(self, name: LimitName, per_second: int, table: RateTable) -> None:
        self._name: LimitName = name
        self._per_request_ns = max(1, _SECOND_NS // per_second) if per_second else 0
        self._ahead_max_ns = self._per_request_ns * (per_second - 1)
        self._table = table

    def check(self, key: str, now_s: float) -> None:
        """Raise RateLimited if a request would be refused now."""
        if self._per_request_ns:
            self._next_moment(self._table.moment_ns(f"{self._name} {key}"), int(now_s * _SECOND_NS))

    def spend(self, key: str, now_s: float) -> None:
        """Count a request. Raises RateLimited."""
        if self._per_request_ns:
            with self._table.slot(f"{self._name} {key}") as slot:
                paid_until_ns = self._next_moment(slot.moment_ns, int(now_s * _SECOND_NS))
                slot.put(paid_until_ns + self._per_request_ns)

    def _next_moment(self, moment_ns: int, now_ns: int) -> int:
        paid_until_ns = max(moment_ns, now_ns)
        waiting_ns = paid_until_ns - now_ns - self._ahead_max_ns
        if waiting_ns > 0:
            raise RateLimited(self._name, math.ceil(waiting_ns / _SECOND_NS))
        return paid_until_ns


class CallerLimits:
    """The limits of callers who are known: of their organization, and of the credential with which they stamp."""

    def __init__(self, per_organization: int, per_credential: int, table: RateTable) -> None:
        self._is_limited = bool(per_organization or per_credential)
        self._organizations = RateLimit("organization", per_organization, table)
        self._credentials = RateLimit("credential", per_credential, table)

    def spend(self, organization_id: str, caller: Principal, now_s: float) -> None:
        """Count a request for both. Raises RateLimited; then it counts for neither."""
        if not self._is_limited:
            return
        credential = f"{caller.organization_id} {caller.record_id}"
        self._credentials.check(credential, now_s)
        self._organizations.spend(organization_id, now_s)
        self._credentials.spend(credential, now_s)

    def spend_for_proxy(self, organization_id: str, now_s: float) -> None:
        """Count a request that an authentication proxy stamped. These are counted apart from the other requests of
        the organization, because anybody can send them. Raises RateLimited."""
        self._organizations.spend(f"proxies of {organization_id}", now_s)


class FailureLimit:
    """The limit of failed requests of each address. Addresses with the key "" are not limited
    (`http_messages.CallerAddress`)."""

    def __init__(self, per_second: int, table: RateTable) -> None:
        self._requests = RateLimit("address", per_second, table)
        self._log_lines = RateLimit("log_lines", 1, table)

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
            return _spend_if_free(self._log_lines, limit_key, now_s)
        return True


def _spend_if_free(limit: RateLimit, key: str, now_s: float) -> bool:
    try:
        limit.spend(key, now_s)
    except RateLimited:
        return False
    return True
