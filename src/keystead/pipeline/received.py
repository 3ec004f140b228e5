"""A submission or a vote, with its caller, as the steps of a write get it.

Not here: its body (`requests`), the order of the steps (`lifecycle`).
"""

from __future__ import annotations

import msgspec

from keystead.organizations.ip_allowlists import SourceAddress
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.requests import Submission


class ReceivedRequest(msgspec.Struct, frozen=True):
    """`seen`: the organization in which the caller was found, after the request arrived. `source`: the address that
    the request came from.

    `organization_id`: the organization that it changes. `activity_fingerprint`: the fingerprint of the activity
    that it makes or votes on.
    """

    submission: Submission
    caller: Principal
    seen: Organization
    source: SourceAddress
    organization_id: str
    is_vote: bool
    activity_fingerprint: str


def received(
    submission: Submission, caller: Principal, seen: Organization, source: SourceAddress
) -> ReceivedRequest:
    """The request, with what it votes on if it is a vote."""
    is_vote = submission.operation.vote is not None
    fingerprint = submission.intent.fingerprint if is_vote else submission.fingerprint  # type: ignore[attr-defined]
    return ReceivedRequest(submission, caller, seen, source, submission.organization_id, is_vote, fingerprint)
