"""One attempt to deliver an event: a signed POST request, and what its answer means.

Not here: when there is another attempt (`dispatcher`), connecting (`connecting`), the signed bytes (`sessions`).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

import httpcore

from keystead.api.developer_controls import AttemptVerdict, SentWebhook
from keystead.api.errors import InvalidRequest
from keystead.delivery.webhooks.attempts import AttemptResult, DeliveryAttempt, result_of_status
from keystead.delivery.webhooks.connecting import AddressRefused, CheckedNetwork, Resolve, SystemResolver
from keystead.organizations.webhooks.addresses import check_url
from keystead.organizations.webhooks.targets import WebhookTarget
from keystead.organizations.webhooks.webhooks import WebhookDelivery
from keystead.primitives.ip_addresses import IpNetwork
from keystead.sessions import webhook_signatures

ATTEMPT_WITHIN_S: Final = 10.0
"""Time limit of a whole attempt: name, connection, request and answer."""

CONNECTIONS_MAX: Final = 256
IDLE_CONNECTIONS_MAX: Final = 64
IDLE_S: Final = 20.0

_ANSWER_BYTES_READ: Final = 16_384
"""The most bytes of an answer that are read, so that its connection can be used again. After a longer answer the
connection is closed."""

_VERDICTS: Final[Mapping[AttemptResult, AttemptVerdict]] = {
    AttemptResult.ACCEPTED: "accepted",
    AttemptResult.REFUSED: "refused",
    AttemptResult.LATER: "later",
    AttemptResult.DEFECT: "defect",
}


class SignWebhook(Protocol):
    def __call__(self, *, timestamp_ms: int, event_id: str, body: bytes) -> Awaitable[bytes]: ...


class WebhookSender:
    """Sends from one process. `kid`: the id of the key that `sign` signs with. `allowed`: networks besides public
    addresses. `now_ms`: the time that receivers compare with theirs, milliseconds since the epoch. `seen` gets
    every attempt, for development servers. `resolve` is for tests."""

    def __init__(
        self,
        *,
        sign: SignWebhook,
        kid: str,
        allowed: tuple[IpNetwork, ...],
        tls: ssl.SSLContext,
        now_ms: Callable[[], int],
        resolve: Resolve | None = None,
        seen: Callable[[SentWebhook], None] | None = None,
    ) -> None:
        self._sign = sign
        self._kid = kid
        self._allowed = allowed
        self._now_ms = now_ms
        self._seen = seen
        self._names = SystemResolver()
        self._connections = httpcore.AsyncConnectionPool(
            ssl_context=tls,
            network_backend=CheckedNetwork(allowed, resolve or self._names),
            max_connections=CONNECTIONS_MAX,
            max_keepalive_connections=IDLE_CONNECTIONS_MAX,
            keepalive_expiry=IDLE_S,
        )

    async def close(self) -> None:
        await self._connections.aclose()
        self._names.close()

    async def send(self, delivery: WebhookDelivery, target: WebhookTarget, body: bytes) -> DeliveryAttempt:
        """Make one attempt, with a signature of its own. Raises ServiceError if the signer does not sign."""
        timestamp_ms = self._now_ms()
        signature = await self._sign(timestamp_ms=timestamp_ms, event_id=delivery.event_id, body=body)
        headers = webhook_signatures.headers(
            organization_id=target.organization_id,
            event_type=delivery.event_type,
            event_id=delivery.event_id,
            kid=self._kid,
            timestamp_ms=timestamp_ms,
            signature=signature,
        )
        attempt = await self._attempt(target, headers, body)
        if self._seen is not None:
            self._seen(
                SentWebhook(
                    sent_at_ms=timestamp_ms,
                    endpoint_id=target.endpoint_id,
                    organization_id=target.organization_id,
                    url=target.url,
                    headers=dict(headers),
                    body=body.decode(),
                    verdict=_VERDICTS[attempt.result],
                    status=attempt.status,
                    reason=attempt.reason,
                )
            )
        return attempt

    async def _attempt(
        self, target: WebhookTarget, headers: webhook_signatures.Headers, body: bytes
    ) -> DeliveryAttempt:
        try:
            check_url(target.url, self._allowed, "url")
        except InvalidRequest as refused:
            return DeliveryAttempt(result=AttemptResult.REFUSED, reason=refused.message)
        try:
            async with asyncio.timeout(ATTEMPT_WITHIN_S):
                status = await self._post(target.url, headers, body)
        except TimeoutError:
            return DeliveryAttempt(result=AttemptResult.LATER, reason="it did not answer in time")
        except AddressRefused as refused:
            return DeliveryAttempt(result=AttemptResult.LATER, reason=str(refused))
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.TimeoutException,
            ssl.SSLError,
            OSError,
        ) as failed:
            return DeliveryAttempt(
                result=AttemptResult.LATER, reason=f"it could not be reached: {type(failed).__name__}"
            )
        return DeliveryAttempt(result=result_of_status(status), status=status, reason=f"it answered {status}")

    async def _post(self, url: str, headers: webhook_signatures.Headers, body: bytes) -> int:
        async with self._connections.stream("POST", url, headers=list(headers.items()), content=body) as answer:
            read = 0
            async for chunk in answer.aiter_stream():
                read += len(chunk)
                if read > _ANSWER_BYTES_READ:
                    break
            return int(answer.status)
