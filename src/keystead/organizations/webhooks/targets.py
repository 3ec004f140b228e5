"""Where the deliveries of an endpoint go, in this version of its organization. Pure."""

from __future__ import annotations

import msgspec

from keystead.organizations.kinds.webhook_endpoints import WebhookEndpoints
from keystead.organizations.organization import Organization
from keystead.organizations.webhooks.webhooks import FEATURE


class WebhookTarget(msgspec.Struct, frozen=True):
    """The receiver of deliveries: an endpoint, or the URL of the older feature."""

    endpoint_id: str
    organization_id: str
    url: str


def target_of(organization: Organization, endpoint_id: str) -> WebhookTarget | None:
    """Where this endpoint's deliveries go now; None if it was deleted or is paused."""
    if endpoint_id == organization.id:
        url = organization.profile.features.get(FEATURE)
        return WebhookTarget(endpoint_id, organization.id, url) if url else None
    endpoint = organization.of(WebhookEndpoints).get(endpoint_id)
    if endpoint is None or not endpoint.is_active:
        return None
    return WebhookTarget(endpoint_id, organization.id, endpoint.url)
