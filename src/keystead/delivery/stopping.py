"""How the deliveries under way end when a process stops.

Not here: who starts no new ones (`outbox`, `webhooks.dispatcher`), giving leases back (the same modules).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, Final

FINISH_S: Final = 3.0
"""Seconds that deliveries under way have to end and to be recorded when the process stops. What was sent and is not
recorded is sent again by another process. `server.workers` kills a process that takes two seconds longer."""


async def finish(deliveries: Collection[asyncio.Task[Any]], within_s: float = FINISH_S) -> None:
    """Wait for these deliveries, then cancel those that still run."""
    if not deliveries:
        return
    _, late = await asyncio.wait(deliveries, timeout=within_s)
    for delivery in late:
        delivery.cancel()
    await asyncio.gather(*deliveries, return_exceptions=True)
