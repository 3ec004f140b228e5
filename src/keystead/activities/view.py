"""An activity as one caller sees it: its intent read back from the request, and what the caller may still do.

Here: from the record to the shape of the wire. Not here: the two forms of that shape (`api.rendering`).
"""

from __future__ import annotations

from keystead.activities.activity import Activity, ActivityOperation
from keystead.activities.requests import Submission, read_intent, recorded_envelope
from keystead.api import records
from keystead.api.catalogue import Catalogue
from keystead.api.enums import FINAL_STATUSES
from keystead.api.parameters import Asked
from keystead.organizations.organization import Organization


def submitted_view(
    activity: Activity, submission: Submission, organization: Organization, user_id: str
) -> records.Activity:
    """The activity for the caller who submitted these bytes."""
    return _view(
        activity,
        submission.version.intent_key,
        submission.intent,
        submission.envelope.timestamp_ms,
        organization,
        user_id,
    )


def recorded_view(
    activity: Activity, catalogue: Catalogue, organization: Organization, user_id: str
) -> records.Activity:
    """The activity from its record, for this user."""
    operation = catalogue.of_type(activity.type)
    assert isinstance(operation, ActivityOperation), activity.type
    version = operation.version_of(activity.type)
    assert version is not None, activity.type
    envelope = recorded_envelope(activity.request)
    return _view(
        activity,
        version.intent_key,
        read_intent(version, envelope.parameters),
        envelope.timestamp_ms,
        organization,
        user_id,
    )


def _view(
    activity: Activity,
    intent_key: str,
    intent: Asked,
    timestamp_ms: str,
    organization: Organization,
    user_id: str,
) -> records.Activity:
    open_to_vote = activity.status not in FINAL_STATUSES and user_id in organization.profile.root_quorum.user_ids
    return records.Activity(
        id=activity.id,
        organization_id=activity.organization_id,
        status=activity.status,
        type=activity.type,
        timestamp_ms=timestamp_ms,
        intent={intent_key: intent},
        result=dict(activity.result),
        votes=activity.votes,
        app_proofs=activity.app_proofs or None,
        fingerprint=activity.fingerprint,
        can_approve=open_to_vote and all(vote.user_id != user_id for vote in activity.votes),
        can_reject=open_to_vote,
        created_at=records.Timestamp.from_ms(activity.created_at_ms),
        updated_at=records.Timestamp.from_ms(activity.updated_at_ms),
        failure=activity.failure,
    )
