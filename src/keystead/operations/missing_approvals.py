"""Which approvals an activity waits for: whose approval would make a policy or the root quorum allow it.

Not here: the rules themselves (`policies.authorize`), the query (`activity_descriptions`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from keystead.api.catalogue import activity_kind
from keystead.api.records import Wire
from keystead.operations.approvals_needed import Needed, approvals_needed
from keystead.organizations.kinds.auth_proxies import AuthProxies
from keystead.organizations.kinds.profile import RootQuorum
from keystead.organizations.organization import Organization
from keystead.pipeline.authorization import authorization_request
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.policies.authorize import Rule, authorize
from keystead.policies.evaluator import PolicyEvaluator
from keystead.policies.language.expression import CompiledExpression
from keystead.policies.policy_evaluation import EvaluationOutcome
from keystead.policies.policy_set import PolicySet
from keystead.policies.request import AuthorizationRequest
from keystead.policies.resources import ROOT_ONLY

NAMED_MAX: Final = 100
"""Most users in one MissingApprovals."""

WAYS_MAX: Final = 10
"""Most policies in one answer."""


class MissingApprovals(Wire, frozen=True):
    """One way in which the activity could be allowed.

    - `policy_id`: the policy that waits, absent for the root quorum.
    - `user_ids`: users whose further approval counts, at most a hundred.
    - `count`: how many of them must approve; absent for a consensus that no number describes.
    - `required_user_ids`: those of them who must approve in any case, if others must, too.
    """

    user_ids: tuple[str, ...]
    policy_id: str | None = None
    count: int | None = None
    required_user_ids: tuple[str, ...] = ()


def missing_approvals(basis: DecisionBasis) -> tuple[MissingApprovals, ...]:
    """The ways that are left: at most WAYS_MAX policies in order of creation, then the root quorum.

    The search for the users whom policies count has a limit in steps. Beyond it, users and policies are left out.
    """
    request, organization = authorization_request(basis), basis.authority
    approving = {approval.user_id for approval in request.approvals}
    is_root_only = activity_kind(basis.version.activity_type) in ROOT_ONLY
    by_policies = [] if is_root_only else _by_policies(request, basis.policies.policy_set, organization, approving)
    decision = authorize(request, basis.policies.policy_set)
    if decision.rule is Rule.ADDED_CREDENTIAL and not decision.is_denial:
        # The submitter has such a credential, and approves again with that.
        by_policies = [MissingApprovals(policy_id=decision.policy_ids[0], user_ids=(request.submitter_id,))]
    return (*by_policies, *_by_root_quorum(organization.profile.root_quorum, approving))


def _by_policies(
    request: AuthorizationRequest, policy_set: PolicySet, organization: Organization, approving: Collection[str]
) -> list[MissingApprovals]:
    evaluators = [PolicyEvaluator(item, policy_set) for item in request.items()]
    if any(evaluator.denying for evaluator in evaluators):
        return []
    waiting: dict[str, PolicyEvaluator] = {}
    for evaluator in evaluators:
        for policy_id in evaluator.policies_with(EvaluationOutcome.REQUIRES_CONSENSUS):
            waiting.setdefault(policy_id, evaluator)
    ways: list[MissingApprovals] = []
    for policy in policy_set.policies:
        if len(ways) == WAYS_MAX:
            break
        if policy.id not in waiting:
            continue
        user_ids = _counted_users(organization, approving, waiting[policy.id], policy.consensus)
        if user_ids:
            needed = _needed(user_ids, waiting[policy.id], policy.consensus)
            ways.append(
                MissingApprovals(
                    policy_id=policy.id,
                    user_ids=user_ids,
                    count=None if needed is None else needed.count,
                    required_user_ids=() if needed is None else needed.required,
                )
            )
    return ways


def _needed(
    user_ids: Sequence[str], evaluator: PolicyEvaluator, consensus: CompiledExpression | None
) -> Needed | None:
    """How many of these users must approve; None if no number describes it, or if finding out takes too long."""
    if consensus is None:
        return None
    needed = approvals_needed(user_ids, lambda chosen: evaluator.is_met_with(consensus, chosen))
    return None if evaluator.has_no_counting_steps_left else needed


def _by_root_quorum(quorum: RootQuorum, approving: Collection[str]) -> list[MissingApprovals]:
    members = tuple(user_id for user_id in quorum.user_ids if user_id not in approving)
    count = quorum.threshold - (len(quorum.user_ids) - len(members))
    return [MissingApprovals(user_ids=members[:NAMED_MAX], count=count)] if 0 < count <= len(members) else []


def _counted_users(
    organization: Organization,
    approving: Collection[str],
    evaluator: PolicyEvaluator,
    consensus: CompiledExpression | None,
) -> tuple[str, ...]:
    """The first users, NAMED_MAX at most, who have not approved and whom this consensus counts.

    Nobody votes as the user of an authentication proxy: its key answers browsers' requests alone.
    """
    proxies = organization.of(AuthProxies)
    counted: list[str] = []
    for user_id in organization.users:
        if evaluator.has_no_counting_steps_left or len(counted) == NAMED_MAX:
            break
        if user_id not in approving and user_id not in proxies and evaluator.counts(consensus, user_id):
            counted.append(user_id)
    return tuple(counted)
