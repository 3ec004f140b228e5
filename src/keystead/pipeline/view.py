"""An activity as one caller sees it: its intent, read again from the request, and whether the caller may vote.

Here: from the activity on record to the record of the API. Not here: its two encoded forms (`api.rendering`).
"""

from __future__ import annotations

from keystead.api import records
from keystead.api.catalogue import Catalogue
from keystead.api.enums import FINAL_STATUSES, VoteSelection
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.submission import SubmissionBody, recorded_request


def view(
    activity: RecordedActivity,
    catalogue: Catalogue,
    user_id: str,
    *,
    may_vote: bool,
    lacks_proofs: bool,
    body: SubmissionBody | None = None,
) -> records.Activity:
    """The activity as this user sees it.

    `may_vote`: whether the user may vote on it. `lacks_proofs`: whether the user's approval waits for further
    proofs. `body`: what the user has just sent; if it is this activity's request, it is not decoded again.
    """
    operation = catalogue.of_type(activity.type)
    assert isinstance(operation, ActivityOperation), activity.type
    version = operation.version_of(activity.type)
    assert version is not None, activity.type
    if body is not None and body.fingerprint == activity.fingerprint:
        envelope, intent = body.envelope, body.intent
    else:
        envelope, intent = recorded_request(version, activity.request)
    open_to_vote = may_vote and activity.status not in FINAL_STATUSES
    return records.Activity(
        id=activity.id,
        organization_id=activity.organization_id,
        status=activity.status,
        type=activity.type,
        timestamp_ms=envelope.timestamp_ms,
        intent={version.intent_key: intent},
        result=dict(activity.result),
        votes=activity.votes,
        app_proofs=activity.app_proofs or None,
        fingerprint=activity.fingerprint,
        can_approve=open_to_vote and (lacks_proofs or not _has_approved(activity, user_id)),
        can_reject=open_to_vote,
        created_at=records.Timestamp.from_ms(activity.created_at_ms),
        updated_at=records.Timestamp.from_ms(activity.updated_at_ms),
        failure=activity.failure,
    )


def _has_approved(activity: RecordedActivity, user_id: str) -> bool:
    """Whether the user's vote is an approval that has not lapsed."""
    return any(
        vote.user_id == user_id
        and vote.selection is VoteSelection.APPROVED
        and vote.created_at.epoch_ms >= activity.approvals_since_ms
        for vote in activity.votes
    )
