"""Leases of endpoints: one process at a time delivers to an endpoint, so that events stay in order.

Not here: what a process does with a lease (`dispatcher`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from keystead.delivery.webhooks.store import WebhookRows
from keystead.organizations.webhooks.webhooks import WebhookLease

LEASE_MS: Final = 30_000
_RENEWED_BEFORE_MS: Final = 15_000
"""A lease that ends within this time is renewed before a round. It is longer than an attempt may take."""

_LOST_RACE_MS: Final = 1_000
"""After another process was faster, its lease is read again after this time."""


class Leases:
    """The leases of one process. `holder`: an id of this process, new at each start."""

    def __init__(self, rows: WebhookRows, holder: str, now_ms: Callable[[], int]) -> None:
        self._rows = rows
        self._holder = holder
        self._now_ms = now_ms
        self._held: dict[str, WebhookLease] = {}

    async def take_or_renew(self, endpoint_id: str, organization_id: str) -> int:
        """Take the lease of an endpoint, or renew it. Returns 0 if this process has the lease now; otherwise the
        time until which another process has it, in milliseconds since the epoch."""
        now_ms = self._now_ms()
        lease = self._held.get(endpoint_id)
        if lease is not None and lease.expires_at_ms - now_ms > _RENEWED_BEFORE_MS:
            return 0
        if lease is None:
            lease = await self._rows.webhook_lease(organization_id, endpoint_id)
        if lease is not None and lease.holder != self._holder and lease.expires_at_ms > now_ms:
            return lease.expires_at_ms
        until_ms = now_ms + LEASE_MS
        if lease is None:
            lease = WebhookLease(
                endpoint_id=endpoint_id,
                organization_id=organization_id,
                holder=self._holder,
                expires_at_ms=until_ms,
            )
        else:
            lease = lease.renewed(self._holder, until_ms)
        if not await self._rows.write_webhook_lease(lease):
            self._held.pop(endpoint_id, None)
            return now_ms + _LOST_RACE_MS
        self._held[endpoint_id] = lease
        return 0

    def forget(self, endpoint_id: str) -> bool:
        """Forget the lease of an endpoint. Returns False, and keeps it, if this process still has the lease."""
        lease = self._held.get(endpoint_id)
        if lease is not None and lease.expires_at_ms > self._now_ms():
            return False
        self._held.pop(endpoint_id, None)
        return True

    def __len__(self) -> int:
        return len(self._held)

    async def release(self) -> None:
        """Release all leases, so that other processes can deliver at once."""
        now_ms = self._now_ms()
        held = [lease for lease in self._held.values() if lease.expires_at_ms > now_ms]
        released = [self._rows.write_webhook_lease(lease.released()) for lease in held]
        await asyncio.gather(*released, return_exceptions=True)
