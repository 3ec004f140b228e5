"""An attempt and its record: delivered, to be attempted again, or given up.

Not here: the request (`sending`), what is attempted when (`dispatcher`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, assert_never

from keystead.api.errors import Unavailable
from keystead.delivery.outbox import next_attempt_ms
from keystead.delivery.webhooks.attempts import AttemptResult, DeliveryAttempt, WebhookRows
from keystead.organizations.webhooks.targets import WebhookTarget
from keystead.organizations.webhooks.webhooks import DeliveryResult, WebhookDelivery

logger = logging.getLogger("keystead.delivery")

LARGE_BYTES: Final = 262_144
_LARGE_AT_ONCE: Final = 4
"""Events longer than LARGE_BYTES that are in memory at the same time."""

Send = Callable[[WebhookDelivery, WebhookTarget, bytes], Awaitable[DeliveryAttempt]]


class RecordedAttempts:
    """Makes attempts in one process and records them. `random_fraction()` returns a number from 0 to 1."""

    def __init__(
        self,
        rows: WebhookRows,
        send: Send,
        now_ms: Callable[[], int],
        random_fraction: Callable[[], float],
    ) -> None:
        self._rows = rows
        self._send = send
        self._now_ms = now_ms
        self._random_fraction = random_fraction
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self.results: Counter[DeliveryResult] = Counter()
        """The number of attempts, by result. GIVEN_UP also counts deliveries without an attempt."""

    async def attempt(self, delivery: WebhookDelivery, target: WebhookTarget) -> DeliveryAttempt:
        """Attempt a delivery, and record it.

        Raises Unavailable if the database or the signer does not answer, and another error of the store if the
        attempt could not be recorded. Any other error delays this event alone: it is the `defect` of the attempt.
        """
        if delivery.body_bytes > LARGE_BYTES:
            async with self._large:
                attempt = await self._send_event(delivery, target)
        else:
            attempt = await self._send_event(delivery, target)
        result, after = self._row_after(delivery, attempt)
        self.results[result] += 1
        if result is not DeliveryResult.DELIVERED:
            logger.warning(
                "webhook %s to endpoint %s: %s: %s",
                delivery.event_id,
                delivery.endpoint_id,
                result.value,
                attempt.reason,
            )
        await self._rows.record_deliveries([after])
        return attempt

    async def _send_event(self, delivery: WebhookDelivery, target: WebhookTarget) -> DeliveryAttempt:
        try:
            body = await self._rows.webhook_event(delivery.organization_id, delivery.id)
            if body is None:
                return DeliveryAttempt(result=AttemptResult.REFUSED, reason="its event has expired")
            return await self._send(delivery, target, body)
        except Unavailable:
            raise
        except Exception as defect:  # noqa: BLE001 - `dispatcher` logs it
            return DeliveryAttempt(result=AttemptResult.DEFECT, reason="a defect of this server", defect=defect)

    def _row_after(
        self, delivery: WebhookDelivery, attempt: DeliveryAttempt
    ) -> tuple[DeliveryResult, WebhookDelivery]:
        """The result of an attempt, and the row after it."""
        now_ms = self._now_ms()
        match attempt.result:
            case AttemptResult.ACCEPTED:
                return DeliveryResult.DELIVERED, delivery.done(now_ms)
            case AttemptResult.REFUSED:
                return DeliveryResult.FAILED, delivery.done(now_ms)
            case AttemptResult.LATER | AttemptResult.DEFECT:
                again_ms = next_attempt_ms(now_ms, delivery.failures + 1, self._random_fraction)
                if again_ms >= delivery.give_up_at_ms:
                    return DeliveryResult.GIVEN_UP, delivery.done(now_ms)
                return DeliveryResult.DELAYED, delivery.delayed(again_ms)
            case _:
                assert_never(attempt.result)

    async def give_up(self, deliveries: Sequence[WebhookDelivery], reason: str) -> None:
        """Record that these deliveries will not be attempted again."""
        now_ms = self._now_ms()
        by_organization: dict[str, list[WebhookDelivery]] = defaultdict(list)
        for delivery in deliveries:
            by_organization[delivery.organization_id].append(delivery.done(now_ms))
        writes = [self._rows.record_deliveries(rows) for rows in by_organization.values()]
        await asyncio.gather(*writes)
        self.results[DeliveryResult.GIVEN_UP] += len(deliveries)
        logger.warning(
            "%d webhooks of endpoint %s were given up: %s", len(deliveries), deliveries[0].endpoint_id, reason
        )
