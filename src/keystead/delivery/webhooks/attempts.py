"""The result of an attempt to deliver a webhook, and what delivering needs of a store.

Not here: making an attempt (`sending`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

import msgspec

from keystead.organizations.organization import Organization
from keystead.organizations.webhooks.webhooks import WebhookDelivery, WebhookLease


class AttemptResult(Enum):
    """After LATER and DEFECT another attempt may succeed. DEFECT: this server failed, not the receiver. The other
    results are final."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    LATER = "another attempt may succeed"
    DEFECT = "a defect of this server"


class DeliveryAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that was made. `status`: the HTTP status of the answer, 0 if there was none. `reason` does not
    quote the receiver. `defect`: the error of this server, if the result is DEFECT."""

    result: AttemptResult
    status: int = 0
    reason: str = ""
    defect: Exception | None = None


def result_of_status(status: int) -> AttemptResult:
    """The documented rule: 2xx is accepted, 5xx may be attempted again, every other status is final, redirects
    too."""
    if 200 <= status < 300:
        return AttemptResult.ACCEPTED
    return AttemptResult.LATER if status >= 500 else AttemptResult.REFUSED


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
