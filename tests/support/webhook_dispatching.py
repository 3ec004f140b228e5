"""A dispatcher of webhooks over rows in memory: `Rows` keeps them, `Receivers` answers, `settled` runs it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from keystead.api.errors import Unavailable
from keystead.api.records import Timestamp, WebhookEndpointData, WebhookSubscriptionParams
from keystead.delivery.webhooks.attempts import AttemptResult, DeliveryAttempt
from keystead.delivery.webhooks.dispatcher import WebhookDispatcher
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Organization, Version, from_records
from keystead.organizations.webhooks.targets import WebhookTarget
from keystead.organizations.webhooks.webhooks import (
    WebhookDelivery,
    WebhookLease,
    event_row_id,
)

ORGANIZATION = "organization"
LAST_MS = 3_600_000
ACCEPTED, REFUSED, LATER = (
    DeliveryAttempt(result=result) for result in AttemptResult if result is not AttemptResult.DEFECT
)


def an_organization(*endpoint_ids: str, active: bool = True) -> Organization:
    profile = Profile(name="o", root_quorum=RootQuorum(1, ("u",)), created_at=Timestamp.from_ms(0), parent_id=None)
    endpoints = [
        WebhookEndpointData(
            endpoint_id=endpoint_id,
            organization_id=ORGANIZATION,
            url=f"https://{endpoint_id}.example/",
            name=endpoint_id,
            is_active=active,
            subscriptions=(WebhookSubscriptionParams(event_type="ACTIVITY_UPDATES"),),
        )
        for endpoint_id in endpoint_ids
    ]
    return from_records(ORGANIZATION, Version(1, "e"), [profile, SealedDataKey(Sealed("master", b"")), *endpoints])


class Rows:
    """Deliveries and leases in memory, with the rules that the databases have."""

    def __init__(self, organization: Organization, *deliveries: WebhookDelivery) -> None:
        self.organizations = {ORGANIZATION: organization}
        self.by_key = {(one.endpoint_id, one.id): one for one in deliveries}
        self.leases: dict[str, WebhookLease] = {}
        self.largest_read = 0
        self.fails = False

    @property
    def deliveries(self) -> Rows:
        return self

    def _waiting(self) -> list[WebhookDelivery]:
        if self.fails:
            raise Unavailable("the database is away")
        return sorted((one for one in self.by_key.values() if one.due_ms is not None), key=lambda one: one.id)

    async def organization(self, organization_id: str) -> Organization | None:
        return self.organizations.get(organization_id)

    async def waiting_endpoints(self, after: str, limit: int) -> Sequence[str]:
        return sorted({one.endpoint_id for one in self._waiting() if one.endpoint_id > after})[:limit]

    async def waiting_deliveries(self, endpoint_id: str, after: str, limit: int) -> Sequence[WebhookDelivery]:
        found = [one for one in self._waiting() if one.endpoint_id == endpoint_id and one.id > after][:limit]
        self.largest_read = max(self.largest_read, len(found))
        return found

    async def webhook_event(self, organization_id: str, id_: str) -> bytes | None:
        return None if id_.startswith("expired") else id_.encode()

    async def webhook_lease(self, organization_id: str, endpoint_id: str) -> WebhookLease | None:
        return self.leases.get(endpoint_id)

    async def released_webhook_leases(self, limit: int) -> Sequence[str]:
        return [one.endpoint_id for one in self.leases.values() if one.expires_at_ms == 0][:limit]

    async def write_webhook_lease(self, lease: WebhookLease) -> bool:
        stored = self.leases.get(lease.endpoint_id)
        if (stored.revision if stored else 0) != lease.revision - 1:
            return False
        self.leases[lease.endpoint_id] = lease
        return True

    async def record_deliveries(self, after: Sequence[WebhookDelivery]) -> bool:
        if any(self.by_key[one.endpoint_id, one.id].revision != one.revision - 1 for one in after):
            return False
        self.by_key |= {(one.endpoint_id, one.id): one for one in after}
        return True


def waiting(endpoint_id: str, activity_id: str, revision: int = 0, **members: Any) -> WebhookDelivery:
    delivery = WebhookDelivery(
        endpoint_id=endpoint_id,
        id=event_row_id(activity_id, revision),
        organization_id=ORGANIZATION,
        endpoint_organization_id=ORGANIZATION,
        event_id=f"event of {activity_id} {revision}",
        event_type="ACTIVITY_UPDATES",
        due_ms=0,
        give_up_at_ms=LAST_MS,
        expires_at_ms=2 * LAST_MS,
        body_bytes=100,
    )
    return replace(delivery, **members)


class Clock:
    ms = 0


class Receivers:
    """Answers by endpoint and event. What is called may wait."""

    def __init__(self, answer: Callable[[str, str], Any] = lambda _endpoint, _event: ACCEPTED) -> None:
        self.answer = answer
        self.sent: list[tuple[str, str]] = []
        self.at_once: Counter[str] = Counter()
        self.most_at_once: Counter[str] = Counter()

    async def send(self, delivery: WebhookDelivery, target: WebhookTarget, body: bytes) -> DeliveryAttempt:
        assert target.url == f"https://{target.endpoint_id}.example/"
        assert body.decode() == delivery.id
        endpoint_id = target.endpoint_id
        self.sent.append((endpoint_id, delivery.id))
        self.at_once[endpoint_id] += 1
        self.most_at_once[endpoint_id] = max(self.most_at_once[endpoint_id], self.at_once[endpoint_id])
        try:
            await asyncio.sleep(0)
            answer = self.answer(endpoint_id, delivery.id)
            attempt: DeliveryAttempt = await answer if hasattr(answer, "__await__") else answer
            return attempt
        finally:
            self.at_once[endpoint_id] -= 1

    def events(self, endpoint_id: str = "e") -> list[str]:
        return [id_ for to, id_ in self.sent if to == endpoint_id]


def dispatcher(rows: Rows, receivers: Receivers, clock: Clock, holder: str = "p1") -> WebhookDispatcher:
    return WebhookDispatcher(
        rows, receivers.send, holder=holder, now_ms=lambda: clock.ms, random_fraction=lambda: 1.0
    )


async def settled(*running: WebhookDispatcher) -> None:
    """Serve every endpoint that may be served, until no work is due at this time of the clock."""
    for _ in range(200):
        for one in running:
            await one.scan()
        tasks = [task for one in running for task in one.serving]
        if not tasks:
            return
        await asyncio.wait(tasks)
    raise AssertionError("there is always something to do")


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not happen")
