"""/dev/v1/webhooks: what was sent to receivers on this machine, and what they answered."""

from __future__ import annotations

import datetime

import pytest

from keystead.api.developer_controls import WEBHOOKS, WebhooksUpdate
from keystead.client.shapes import WebhookSubscription
from keystead.testing import DevelopmentServer, TestOrganization
from tests.support.callers import now_ms
from tests.support.webhook_receiver import WebhookReceiver, is_genuine, published_keys, receiving


def register(organization: TestOrganization, receiver: WebhookReceiver) -> str:
    made = organization.client.create_webhook_endpoint(
        url=receiver.url, name="endpoint", subscriptions=[WebhookSubscription(event_type="ACTIVITY_UPDATES")]
    )
    assert made.result is not None
    return made.result.endpoint_id


def tag(organization: TestOrganization) -> str:
    return organization.client.create_user_tag(user_tag_name="tag", user_ids=[]).activity.id


def test_what_was_sent(server: DevelopmentServer, organization: TestOrganization) -> None:
    with receiving(lambda _: 418) as receiver:
        endpoint_id = register(organization, receiver)
        activity_id = tag(organization)
        seen = server.webhooks.wait_for(activity_id)
        (webhook,) = receiver.received
    assert (seen.endpoint_id, seen.organization_id) == (endpoint_id, organization.organization_id)
    assert (seen.url, seen.status, seen.verdict, seen.reason) == (receiver.url, 418, "refused", "it answered 418")
    assert seen.activity["id"] == activity_id
    assert seen.body.encode() == webhook.body
    assert seen.headers["X-Turnkey-Event-Id"] == webhook.event_id
    assert server.webhooks.sent(endpoint_id) == [seen]
    assert server.webhooks.sent("another") == []
    server.controls.change(WEBHOOKS, WebhooksUpdate(clear=True))
    assert server.webhooks.sent() == []
    with pytest.raises(TimeoutError, match="0 of 1 webhooks"):
        server.webhooks.wait_for(activity_id, timeout_s=0.01)


def test_receivers_accept_what_a_moved_clock_sends(
    server: DevelopmentServer, organization: TestOrganization
) -> None:
    server.controls.clock.set(datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC))
    with receiving() as receiver:
        register(organization, receiver)
        tag(organization)
        (webhook,) = receiver.wait_for(1)
    assert is_genuine(webhook.headers, webhook.body, published_keys(server.base_url), now_ms()) == ""


def test_a_reset_forgets_them(server: DevelopmentServer, organization: TestOrganization) -> None:
    with receiving() as receiver:
        register(organization, receiver)
        server.webhooks.wait_for(tag(organization))
    server.controls.reset()
    assert server.webhooks.sent() == []
