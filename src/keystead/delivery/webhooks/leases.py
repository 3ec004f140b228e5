"""Leases of endpoints: one process at a time delivers to an endpoint, so that events stay in order.

Not here: what a process does with a lease (`dispatcher`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from keystead.delivery.webhooks.store import WebhookStore
from keystead.organizations.webhooks import WebhookLease

LEASE_MS: Final = 30_000
_RENEWED_BEFORE_MS: Final = 15_000
"""Longer than an attempt may take: the lease is renewed before a round that it might not outlast."""

_LOST_RACE_MS: Final = 1_000
"""After another process was faster, its lease is looked at so much later."""


class Leases:
    """Those of one process. `holder`: an id of this process, new at each start."""

    def __init__(self, store: WebhookStore, holder: str, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._holder = holder
        self._now_ms = now_ms
        self._held: dict[str, WebhookLease] = {}

    async def elsewhere_until_ms(self, endpoint_id: str, organization_id: str) -> int:
        """Take the lease, or renew it. 0 if this process has it now; otherwise until when another one does."""
        now_ms = self._now_ms()
        lease = self._held.get(endpoint_id)
        if lease is not None and lease.expires_at_ms - now_ms > _RENEWED_BEFORE_MS:
            return 0
        if lease is None:
            lease = await self._store.webhook_lease(organization_id, endpoint_id)
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
        if not await self._store.write_webhook_lease(lease):
            self._held.pop(endpoint_id, None)
            return now_ms + _LOST_RACE_MS
        self._held[endpoint_id] = lease
        return 0

    def forget(self, endpoint_id: str) -> bool:
        """Whether nothing of this endpoint is in memory any more: it is not, unless this process has its lease."""
        lease = self._held.get(endpoint_id)
        if lease is not None and lease.expires_at_ms > self._now_ms():
            return False
        self._held.pop(endpoint_id, None)
        return True

    def __len__(self) -> int:
        return len(self._held)

    async def release(self) -> None:
        """Let other processes deliver at once."""
        now_ms = self._now_ms()
        held = [lease for lease in self._held.values() if lease.expires_at_ms > now_ms]
        released = [self._store.write_webhook_lease(lease.released()) for lease in held]
        await asyncio.gather(*released, return_exceptions=True)
