"""What delivering webhooks needs of a store. `storage` implements it for each database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from keystead.organizations.organization import Organization
from keystead.organizations.webhooks.webhooks import WebhookDelivery, WebhookLease


class WebhookRows(Protocol):
    """Every method raises Unavailable while the database does not answer."""

    async def waiting_endpoints(self, after: str, limit: int) -> Sequence[str]: ...

    async def waiting_deliveries(self, endpoint_id: str, after: str, limit: int) -> Sequence[WebhookDelivery]: ...

    async def webhook_event(self, organization_id: str, id_: str) -> bytes | None: ...

    async def webhook_lease(self, organization_id: str, endpoint_id: str) -> WebhookLease | None: ...

    async def released_webhook_leases(self, limit: int) -> Sequence[str]: ...

    async def write_webhook_lease(self, lease: WebhookLease) -> bool: ...

    async def record_deliveries(self, after: Sequence[WebhookDelivery]) -> bool: ...


class WebhookStore(Protocol):
    @property
    def deliveries(self) -> WebhookRows: ...

    async def organization(self, organization_id: str) -> Organization | None:
        """Raises Unavailable while the database does not answer."""
        ...
