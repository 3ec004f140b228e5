"""An attempt and its record: delivered, to be attempted again, or given up.

Not here: the request (`sending`), what is attempted when (`dispatcher`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, assert_never

from keystead.delivery.retries import next_attempt_ms
from keystead.delivery.webhooks.attempts import Attempt, AttemptVerdict
from keystead.delivery.webhooks.store import WebhookStore
from keystead.organizations.webhook_targets import Target
from keystead.organizations.webhooks import DeliveryResult, WebhookDelivery

logger = logging.getLogger("keystead.delivery")

LARGE_BYTES: Final = 262_144
_LARGE_AT_ONCE: Final = 4
"""Longer events are in memory in small number only."""

Send = Callable[[WebhookDelivery, Target, bytes], Awaitable[Attempt]]


class RecordedAttempts:
    """Those of one process. `random_fraction()` is a number from 0 to 1."""

    def __init__(
        self,
        store: WebhookStore,
        send: Send,
        now_ms: Callable[[], int],
        random_fraction: Callable[[], float],
    ) -> None:
        self._store = store
        self._send = send
        self._now_ms = now_ms
        self._random_fraction = random_fraction
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self.results: Counter[DeliveryResult] = Counter()
        """How many ended so; GIVEN_UP also counts deliveries without an attempt."""

    async def attempt(self, delivery: WebhookDelivery, target: Target) -> Attempt:
        if delivery.body_bytes > LARGE_BYTES:
            async with self._large:
                attempt = await self._sent(delivery, target)
        else:
            attempt = await self._sent(delivery, target)
        result, after = self._recorded(delivery, attempt)
        self.results[result] += 1
        if result is not DeliveryResult.DELIVERED:
            logger.warning(
                "webhook %s to endpoint %s: %s: %s",
                delivery.event_id,
                delivery.endpoint_id,
                result.value,
                attempt.reason,
            )
        await self._store.record_deliveries([after])
        return attempt

    async def _sent(self, delivery: WebhookDelivery, target: Target) -> Attempt:
        body = await self._store.webhook_event(delivery.organization_id, delivery.id)
        if body is None:
            return Attempt(verdict=AttemptVerdict.REFUSED, reason="its event has expired")
        return await self._send(delivery, target, body)

    def _recorded(self, delivery: WebhookDelivery, attempt: Attempt) -> tuple[DeliveryResult, WebhookDelivery]:
        """The result of an attempt, and the row after it."""
        now_ms = self._now_ms()
        match attempt.verdict:
            case AttemptVerdict.ACCEPTED:
                return DeliveryResult.DELIVERED, delivery.done(now_ms)
            case AttemptVerdict.REFUSED:
                return DeliveryResult.FAILED, delivery.done(now_ms)
            case AttemptVerdict.LATER:
                again_ms = next_attempt_ms(now_ms, delivery.failures + 1, self._random_fraction)
                if again_ms >= delivery.give_up_at_ms:
                    return DeliveryResult.GIVEN_UP, delivery.done(now_ms)
                return DeliveryResult.DELAYED, delivery.delayed(again_ms)
            case _:
                assert_never(attempt.verdict)

    async def give_up(self, deliveries: Sequence[WebhookDelivery], why: str) -> None:
        """Record deliveries that are not attempted any more."""
        now_ms = self._now_ms()
        by_organization: dict[str, list[WebhookDelivery]] = defaultdict(list)
        for delivery in deliveries:
            by_organization[delivery.organization_id].append(delivery.done(now_ms))
        recorded = [self._store.record_deliveries(each) for each in by_organization.values()]
        await asyncio.gather(*recorded)
        self.results[DeliveryResult.GIVEN_UP] += len(deliveries)
        logger.warning(
            "%d webhooks of endpoint %s were given up: %s", len(deliveries), deliveries[0].endpoint_id, why
        )
