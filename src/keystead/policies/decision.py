"""May this activity run, given who approves it? One function of values, run after every vote.

Here: root quorum, default rights, the implicit denial, and how a denial reads on the wire.
Not here: who approved (`activities`), what the activity would change (`operations`).
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from keystead.api.errors import PermissionDenied
from keystead.organizations.organization import Organization


class Verdict(Enum):
    ALLOW = "allow"
    NEEDS_CONSENSUS = "needs consensus"
    DENY = "deny"


def decide(organization: Organization, approvers: Collection[str], owner_id: str | None) -> Verdict:
    """What the organization's rules say of an activity that these users approve.

    `approvers` are user ids, the submitter among them; `owner_id` is the user whose own credentials the activity
    changes, if it does only that. Order: the root quorum; a user's right over the own credentials; a member of
    the root quorum may wait for the others; anything else is denied.
    """
    quorum = organization.profile.root_quorum
    approving_members = sum(1 for user_id in quorum.user_ids if user_id in approvers)
    if approving_members >= quorum.threshold:
        return Verdict.ALLOW
    if owner_id is not None and owner_id in approvers:
        return Verdict.ALLOW
    if approving_members:
        return Verdict.NEEDS_CONSENSUS
    return Verdict.DENY


def denied(activity_type: str) -> PermissionDenied:
    """The refusal of an activity that nothing allows."""
    return PermissionDenied(
        f"You don't have sufficient permissions to take this action ({activity_type}). "
        "A member of the root quorum can take it, or a policy must allow it.",
        machine_code="",
        details=[
            {
                "@type": "type.googleapis.com/errors.v1.PolicyEnginePermissionError",
                "message": "No policies evaluated to outcome: Allow",
                "policyEvaluations": [],
            }
        ],
    )
