"""Webhook endpoints: create, change, delete and list them."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import Label
from keystead.api.errors import InvalidRequest, NotImplementedHere
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct, ShortText
from keystead.api.records import WebhookEndpointData, WebhookSubscriptionParams, Wire
from keystead.operations.declare import Reading, activity, query
from keystead.organizations.bounds import FILTERS_BYTES_MAX, URL_CHARACTERS_MAX
from keystead.organizations.kinds.webhook_endpoints import WEBHOOK_SUBSCRIPTIONS, WebhookEndpoints
from keystead.organizations.limits import check_limit
from keystead.organizations.organization import Put, Remove
from keystead.organizations.webhooks.addresses import check_url
from keystead.organizations.webhooks.filters import check_filters
from keystead.organizations.webhooks.webhooks import ACTIVITY_UPDATES
from keystead.pipeline.execution import Execution, Output

_CHAIN_EVENTS: Final = frozenset(
    {"BALANCE_CONFIRMED_UPDATES", "BALANCE_FINALIZED_UPDATES", "SEND_TRANSACTION_STATUS_UPDATES"}
)

WebhookUrl = Annotated[str, Meta(max_length=URL_CHARACTERS_MAX)]


class WebhookSubscription(RequestStruct, frozen=True):
    """`filters_json`: see `organizations.webhooks.filters`."""

    event_type: ShortText
    filters_json: Annotated[str, Meta(max_length=FILTERS_BYTES_MAX)] | None = None
    is_active: bool | None = None


class CreateWebhookEndpointIntent(RequestStruct, frozen=True):
    url: WebhookUrl
    name: Label
    subscriptions: Annotated[tuple[WebhookSubscription, ...], Meta(max_length=100)] | None = None


class CreateWebhookEndpointResult(Wire, frozen=True):
    endpoint_id: str
    webhook_endpoint: WebhookEndpointData


@activity("ACTIVITY_TYPE_CREATE_WEBHOOK_ENDPOINT", also_does=("UPDATE_WEBHOOK_ENDPOINT",))
def create_webhook_endpoint(
    execution: Execution, intent: CreateWebhookEndpointIntent
) -> Output[CreateWebhookEndpointResult]:
    """Register an address that gets events of the organization and of its sub-organizations."""
    organization = execution.organization
    organization.of(WebhookEndpoints).check_limit(1, execution.limits)
    check_url(intent.url, execution.webhooks.networks, "parameters.url")
    subscriptions = intent.subscriptions or ()
    check_limit(0, len(subscriptions), WEBHOOK_SUBSCRIPTIONS, execution.limits)
    for index, subscription in enumerate(subscriptions):
        _check_subscription(subscription, f"parameters.subscriptions[{index}]")
    endpoint = WebhookEndpointData(
        endpoint_id=execution.new_id(),
        organization_id=organization.id,
        url=intent.url,
        name=intent.name,
        is_active=True,
        subscriptions=tuple(
            WebhookSubscriptionParams(
                event_type=subscription.event_type,
                filters_json=subscription.filters_json or None,
                is_active=subscription.is_active is not False,
            )
            for subscription in subscriptions
        ),
    )
    return Output(
        result=CreateWebhookEndpointResult(endpoint_id=endpoint.endpoint_id, webhook_endpoint=endpoint),
        changes=(Put(endpoint),),
    )


def _check_subscription(subscription: WebhookSubscription, field: str) -> None:
    if subscription.event_type in _CHAIN_EVENTS:
        raise NotImplementedHere(
            f"this server watches no chain and sends no transactions, so it has no events of type "
            f"{subscription.event_type} (field `{field}.eventType`); it has {ACTIVITY_UPDATES}"
        )
    if subscription.event_type != ACTIVITY_UPDATES:
        raise InvalidRequest(
            f"invalid event type: field `{field}.eventType`: expected {ACTIVITY_UPDATES}, got "
            f"{subscription.event_type[:100]!r}"
        )
    check_filters(subscription.filters_json, f"{field}.filtersJson")


class UpdateWebhookEndpointIntent(RequestStruct, frozen=True):
    """Absent fields do not change. If `is_active` is false, nothing is delivered."""

    endpoint_id: Uuid
    url: WebhookUrl | None = None
    name: Label | None = None
    is_active: bool | None = None


class UpdateWebhookEndpointResult(Wire, frozen=True):
    endpoint_id: str
    webhook_endpoint: WebhookEndpointData


@activity("ACTIVITY_TYPE_UPDATE_WEBHOOK_ENDPOINT", also_does=("CREATE_WEBHOOK_ENDPOINT", "DELETE_WEBHOOK_ENDPOINT"))
def update_webhook_endpoint(
    execution: Execution, intent: UpdateWebhookEndpointIntent
) -> Output[UpdateWebhookEndpointResult]:
    """Change the address or the name of a webhook endpoint, or pause it."""
    endpoint = execution.organization.record(WebhookEndpoints, intent.endpoint_id)
    if intent.url is not None:
        check_url(intent.url, execution.webhooks.networks, "parameters.url")
    changed = replace(
        endpoint,
        url=endpoint.url if intent.url is None else intent.url,
        name=endpoint.name if intent.name is None else intent.name,
        is_active=endpoint.is_active if intent.is_active is None else intent.is_active,
    )
    return Output(
        result=UpdateWebhookEndpointResult(endpoint_id=endpoint.endpoint_id, webhook_endpoint=changed),
        changes=(Put(changed),),
    )


class DeleteWebhookEndpointIntent(RequestStruct, frozen=True):
    endpoint_id: Uuid


class DeleteWebhookEndpointResult(Wire, frozen=True):
    endpoint_id: str


@activity("ACTIVITY_TYPE_DELETE_WEBHOOK_ENDPOINT", also_does=("UPDATE_WEBHOOK_ENDPOINT",))
def delete_webhook_endpoint(
    execution: Execution, intent: DeleteWebhookEndpointIntent
) -> Output[DeleteWebhookEndpointResult]:
    """Delete a webhook endpoint. Its events that wait are not delivered any more."""
    endpoint = execution.organization.record(WebhookEndpoints, intent.endpoint_id)
    return Output(
        result=DeleteWebhookEndpointResult(endpoint_id=endpoint.endpoint_id),
        changes=(Remove(WebhookEndpointData, endpoint.endpoint_id),),
    )


class ListWebhookEndpointsRequest(QueryRequest, frozen=True):
    pass


class ListWebhookEndpointsResponse(Wire, frozen=True):
    webhook_endpoints: tuple[WebhookEndpointData, ...]


@query(of_version=True)
def list_webhook_endpoints(reading: Reading, _: ListWebhookEndpointsRequest) -> ListWebhookEndpointsResponse:
    """All webhook endpoints of the organization, in order of creation."""
    return ListWebhookEndpointsResponse(
        webhook_endpoints=tuple(reading.organization.of(WebhookEndpoints).in_order())
    )
