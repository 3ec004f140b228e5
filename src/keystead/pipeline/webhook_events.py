"""The events of an activity, and the endpoints that get them. Pure.

An event is written in the transaction of its activity, once; each endpoint has a row of its own that refers to it.
Not here: delivering (`delivery.webhooks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from keystead.api.catalogue import Catalogue
from keystead.api.rendering import Form, rendered_activity
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.organization import Organization
from keystead.organizations.webhooks import webhooks
from keystead.organizations.webhooks.filters import filters_of
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.bounds import EVENT_BYTES_MAX
from keystead.pipeline.environment import Environment
from keystead.pipeline.store import Commit
from keystead.pipeline.submission import view

_READ_AFTER_MS = 600_000
"""How long an event is kept after its deliveries were given up: an attempt may be in progress."""


def with_event(
    commit: Commit,
    activity: RecordedActivity,
    on_record: RecordedActivity | None,
    holders: Sequence[Organization | None],
    environment: Environment,
    now_ms: int,
) -> Commit:
    """The commit, which also writes the event if its activity is new or has a new status.

    `activity`: as the commit leaves it, `on_record`: as it was. `holders`: the organization and its parent, if it
    has one. An event is written only if an endpoint of them wants it, with a delivery for each endpoint."""
    if on_record is not None and on_record.status is activity.status:
        return commit
    wanted: list[tuple[str, str]] = []
    for holder in holders:
        if holder is not None and (
            holder.webhook_endpoints.by_id.size or holder.profile.features.get(webhooks.FEATURE)
        ):
            wanted += [(endpoint_id, holder.id) for endpoint_id in _endpoints(activity, holder)]
    if not wanted:
        return commit
    return replace(commit, rows=(*commit.rows, *_rows(activity, wanted, environment, now_ms)))


def _rows(
    activity: RecordedActivity, wanted: Sequence[tuple[str, str]], environment: Environment, now_ms: int
) -> Iterator[VersionedRow]:
    """The event, and a delivery for each of the endpoints, which are named with their organizations."""
    settings = environment.settings.webhooks
    row_id, event_id = webhooks.event_row_id(activity.id, activity.revision), environment.new_id()
    give_up_at_ms = now_ms + settings.last_ms
    form = Form.DOCUMENTED if settings.documented_form else Form.SDK
    body = _body(activity, environment.catalogue, form)
    yield webhooks.WebhookEvent(id=row_id, expires_at_ms=give_up_at_ms + _READ_AFTER_MS, body=body)
    for endpoint_id, holder_id in wanted:
        yield webhooks.WebhookDelivery(
            endpoint_id=endpoint_id,
            id=row_id,
            organization_id=activity.organization_id,
            endpoint_organization_id=holder_id,
            event_id=event_id,
            event_type=webhooks.ACTIVITY_UPDATES,
            due_ms=now_ms,
            give_up_at_ms=give_up_at_ms,
            expires_at_ms=give_up_at_ms + _READ_AFTER_MS,
            body_bytes=len(body),
        )


def _endpoints(activity: RecordedActivity, holder: Organization) -> Iterator[str]:
    """The ids of the endpoints of one organization that want this event."""
    for endpoint in holder.webhook_endpoints.values():
        if endpoint.is_active and any(
            subscription.event_type == webhooks.ACTIVITY_UPDATES
            and subscription.is_active is not False
            and filters_of(subscription.filters_json).matches(
                activity.type, activity.status, activity.organization_id
            )
            for subscription in endpoint.subscriptions or ()
        ):
            yield endpoint.endpoint_id
    if holder.profile.features.get(webhooks.FEATURE):
        yield holder.id


def _body(activity: RecordedActivity, catalogue: Catalogue, form: Form) -> bytes:
    """The activity as get_activity shows it to somebody who may not vote on it."""
    seen = view(activity, catalogue, "", may_vote=False, lacks_proofs=False)
    body = rendered_activity(seen, form)
    if len(body) > EVENT_BYTES_MAX:
        votes = tuple(replace(vote, message="") for vote in seen.votes)
        body = rendered_activity(replace(seen, votes=votes), form)
    return body
