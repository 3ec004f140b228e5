"""Whose approvals an activity waits for: what would make its policies, or the root quorum, allow it.

Not here: the rules themselves (`policies.authorize`), the words for people (`activity_descriptions`' readers).
"""

from __future__ import annotations

from typing import Final

from keystead.api.catalogue import activity_kind
from keystead.api.records import Wire
from keystead.organizations.organization import Organization
from keystead.pipeline.authorization import AuthorizationSettings, Case, authorization_request
from keystead.policies.evaluator import PolicyEvaluator
from keystead.policies.policy_evaluation import EvaluationOutcome
from keystead.policies.resources import ROOT_ONLY

NAMED_MAX: Final = 100
"""Most users that one way names."""


class MissingApprovals(Wire, frozen=True):
    """One way in which the activity could be allowed. `policy_id`: the policy that waits, absent for the root
    quorum. `user_ids`: users who have not approved and whose approval counts, at most a hundred. `count`: how
    many of them it takes; absent for a policy, whose consensus says it."""

    user_ids: tuple[str, ...]
    policy_id: str | None = None
    count: int | None = None


def missing_approvals(
    case: Case, organization: Organization, settings: AuthorizationSettings
) -> tuple[MissingApprovals, ...]:
    """Each way that is left, policies first in order of creation."""
    request = authorization_request(case, organization, settings)
    approving = {approval.user_id for approval in request.approvals}
    found = []
    if activity_kind(case.activity_type) not in ROOT_ONLY:
        evaluator = PolicyEvaluator(request, case.policies.policy_set)
        waiting = set(evaluator.policies_with(EvaluationOutcome.REQUIRES_CONSENSUS))
        for policy in case.policies.policy_set.policies:
            if policy.id not in waiting or evaluator.denying:
                continue
            counted = (
                user_id
                for user_id in organization.users
                if user_id not in approving and evaluator.counts(policy.consensus, user_id)
            )
            user_ids = tuple(user_id for user_id, _ in zip(counted, range(NAMED_MAX), strict=False))
            if user_ids:
                found.append(MissingApprovals(policy_id=policy.id, user_ids=user_ids))
    quorum = organization.profile.root_quorum
    members = tuple(user_id for user_id in quorum.user_ids if user_id not in approving)
    count = quorum.threshold - (len(quorum.user_ids) - len(members))
    if 0 < count <= len(members):
        found.append(MissingApprovals(user_ids=members[:NAMED_MAX], count=count))
    return tuple(found)
