"""Webhook endpoints: addresses that get the events of an organization and of its sub-organizations.

Not here: which addresses are allowed (`webhooks.addresses`), events that wait to be delivered (`webhooks`).
"""

from __future__ import annotations

from keystead.api.records import WebhookEndpointData
from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

WEBHOOK_ENDPOINTS = Limit(
    name="webhook_endpoints",
    default=10,
    description="Most webhook endpoints of an organization.",
    called="webhook endpoints",
)

WEBHOOK_SUBSCRIPTIONS = Limit(
    name="webhook_subscriptions",
    default=10,
    description="Most subscriptions of one webhook endpoint.",
    called="subscriptions of one webhook endpoint",
)


class WebhookEndpoints(RecordMap[WebhookEndpointData], frozen=True):
    stored_name = "webhook_endpoint"
    record = WebhookEndpointData
    id_field = "endpoint_id"
    limits = (WEBHOOK_ENDPOINTS, WEBHOOK_SUBSCRIPTIONS)
