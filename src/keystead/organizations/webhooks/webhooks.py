"""Events that wait to be delivered to webhook endpoints: rows that change without a new version.

Here: the rows, and the operator's rules. Not here: which events there are (`pipeline.decide`), delivering
them (`delivery.webhooks`).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec
from msgspec.structs import replace

from keystead.organizations.attached_rows import EXPIRY, AttachedTable, VersionedRow
from keystead.primitives.ip_addresses import IpNetwork

ACTIVITY_UPDATES = "ACTIVITY_UPDATES"
"""The event type of new activities, and of those whose status has changed."""

FEATURE = "FEATURE_NAME_WEBHOOK"
"""The older way to name an endpoint: a feature whose value is a URL. Its id is that of its organization."""


class WebhookSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings for webhooks.

    `last_ms`: milliseconds after which a delivery is given up. `networks`: where webhooks may be sent besides
    public addresses. `documented_form`: events have the documented form of an activity; otherwise that of the SDKs.
    """

    last_ms: int = 3_600_000
    networks: tuple[IpNetwork, ...] = ()
    documented_form: bool = False


class DeliveryResult(StrEnum):
    """The result of an attempt. FAILED: the answer says that another attempt would fail, too."""

    DELIVERED = "delivered"
    DELAYED = "delayed"
    FAILED = "failed"
    GIVEN_UP = "given_up"


def event_row_id(activity_id: str, revision: int) -> str:
    """The id of an event's row. The ids sort by activity, then by revision."""
    return f"{activity_id}:{revision:010d}"


class WebhookEvent(VersionedRow, frozen=True, kw_only=True):
    """The bytes that all endpoints get for one state of an activity. `id`: `event_row_id`."""

    table = AttachedTable(
        name="webhook_event",
        key=(("id", str),),
        columns=(("revision", int), (EXPIRY, int), ("body", bytes)),
        has_revision=True,
        outlives_organization=True,
    )

    id: str
    expires_at_ms: int
    body: bytes


class WebhookDelivery(VersionedRow, frozen=True, kw_only=True):
    """An event that waits for one endpoint. Times are milliseconds since the epoch.

    `id`: that of the event's row. `organization_id`: of the activity; `endpoint_organization_id`: the same, or its
    parent. `event_id`: as receivers see it, the same for every attempt. `due_ms`: when it may be attempted; None
    after it was delivered or given up. `body_bytes`: the length of the event. `failures`: attempts so far that
    failed, at the receiver or in this server. `give_up_at_ms`: no attempt begins after it.
    """

    table = AttachedTable(
        name="webhook_delivery",
        key=(("endpoint_id", str), ("id", str)),
        columns=(("revision", int), ("due_ms", int), (EXPIRY, int), ("body", bytes)),
        has_revision=True,
        outlives_organization=True,
    )

    endpoint_id: str
    id: str
    organization_id: str
    endpoint_organization_id: str
    event_id: str
    event_type: str
    due_ms: int | None
    give_up_at_ms: int
    expires_at_ms: int
    body_bytes: int
    failures: int = 0

    @property
    def activity_id(self) -> str:
        return self.id.partition(":")[0]

    def delayed(self, until_ms: int) -> WebhookDelivery:
        """The row after an attempt that failed."""
        return replace(self, revision=self.revision + 1, due_ms=until_ms, failures=self.failures + 1)

    def done(self, at_ms: int) -> WebhookDelivery:
        """The row once it is delivered or given up."""
        return replace(self, revision=self.revision + 1, due_ms=None, expires_at_ms=at_ms)


class WebhookLease(VersionedRow, frozen=True, kw_only=True):
    """The process that delivers to an endpoint until `expires_at_ms`. Only one process does, so that events stay in
    order.

    `holder`: the id of a process, new at each start.
    """

    table = AttachedTable(
        name="webhook_lease",
        key=(("endpoint_id", str),),
        columns=(("revision", int), (EXPIRY, int), ("body", bytes)),
        has_revision=True,
    )

    endpoint_id: str
    organization_id: str
    holder: str
    expires_at_ms: int

    def renewed(self, holder: str, until_ms: int) -> WebhookLease:
        return replace(self, revision=self.revision + 1, holder=holder, expires_at_ms=until_ms)

    def released(self) -> WebhookLease:
        """The lease without a holder. Its expiry is 0, so other processes may take it at once."""
        return self.renewed("", 0)
