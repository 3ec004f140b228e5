"""Attempts of large events: few are in memory at once, and small ones do not wait for them."""

from __future__ import annotations

import asyncio

from keystead.delivery.webhooks.attempts import DeliveryAttempt
from keystead.delivery.webhooks.recording import LARGE_BYTES, RecordedAttempts
from keystead.organizations.webhooks.targets import WebhookTarget
from keystead.organizations.webhooks.webhooks import WebhookDelivery
from tests.support.hanging import PATIENCE_S
from tests.support.webhook_dispatching import ACCEPTED, Rows, an_organization, waiting

LARGE_AT_ONCE = 4


def test_few_large_events_are_in_memory_at_once() -> None:
    large = [waiting("e", f"large {number}", body_bytes=LARGE_BYTES + 1) for number in range(LARGE_AT_ONCE + 6)]
    small = [waiting("e", f"small {number}", body_bytes=LARGE_BYTES) for number in range(6)]
    in_memory: list[str] = []
    most = 0

    async def run() -> None:
        go_on, is_full = asyncio.Event(), asyncio.Event()

        async def send(delivery: WebhookDelivery, _target: WebhookTarget, body: bytes) -> DeliveryAttempt:
            nonlocal most
            assert body.decode() == delivery.id
            in_memory.append(delivery.id)
            most = max(
                most, sum(delivery.body_bytes > LARGE_BYTES for delivery in large if delivery.id in in_memory)
            )
            if len(in_memory) == LARGE_AT_ONCE + len(small):
                is_full.set()
            await go_on.wait()
            in_memory.remove(delivery.id)
            return ACCEPTED

        rows = Rows(an_organization("e"), *large, *small)
        attempts = RecordedAttempts(rows, send, lambda: 0, lambda: 0.5)
        target = WebhookTarget(endpoint_id="e", organization_id="o", url="https://e.example/")
        running = [asyncio.create_task(attempts.attempt(delivery, target)) for delivery in (*large, *small)]
        await is_full.wait()
        go_on.set()
        await asyncio.gather(*running)
        assert all(one.due_ms is None for one in rows.by_key.values())

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert most == LARGE_AT_ONCE
