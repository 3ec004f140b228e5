"""May an activity add credentials, given by which credentials it is approved?

A credential that the consensus of a policy would count is added only with an approval by a credential that it
counts too. Otherwise one stolen API key would be enough to register a passkey, and to approve with that. Not here:
what a consensus counts (`language.credential_predicates`), the order of the rules (`authorize`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from keystead.api.enums import Effect
from keystead.policies.language.consensus import CredentialValue
from keystead.policies.language.credential_predicates import EITHER, CredentialPredicate
from keystead.policies.language.evaluation_context import EvaluationContext, StepsExceeded
from keystead.policies.language.expression import CompiledExpression
from keystead.policies.policy_set import PolicySet
from keystead.policies.request import (
    AuthorizationRequest,
    EverybodyValues,
    consensus_values,
    credential_values,
)

_STEPS_MAX: Final = 300_000
"""The most steps of all predicates for one activity: 60 ms. Beyond it, an added credential counts, and no approval
does."""
_STEPS_PER_USER: Final = 50
"""Further steps for each user, because a predicate may be about each of them."""


def policies_without_approval(
    request: AuthorizationRequest, policies: PolicySet, further: Sequence[CredentialValue] = ()
) -> list[str]:
    """The ids of the policies whose consensus would count a credential that the activity adds, and counts none of
    the credentials that approve it so far. `further`: credentials that might approve it, too."""
    if not request.added or not policies.with_credentials:
        return []
    approving = [*consensus_values(request.users, request.approvals)["credentials"], *further]
    everybody = EvaluationContext(EverybodyValues(request, request.new_users))
    everybody.steps = _STEPS_MAX + _STEPS_PER_USER * len(request.users)
    lacking: dict[tuple[CompiledExpression | None, Effect], bool] = {}  # policies share consensuses
    for policy in policies.with_credentials:
        shared = (policy.consensus, policy.effect)
        if policy.consensus is not None and shared not in lacking:
            lacking[shared] = any(
                _lacks(predicate, request.added, approving, everybody, allows=policy.effect is Effect.ALLOW)
                for predicate in policy.consensus.credential_predicates
            )
    return [policy.id for policy in policies.with_credentials if lacking[policy.consensus, policy.effect]]


def could_be_approved(request: AuthorizationRequest, policies: PolicySet) -> bool:
    """Whether the submitter has credentials with whose approval no policy lacks one."""
    submitter = request.users.get(request.submitter_id)
    if submitter is None:
        return False
    own = credential_values(submitter, request.now_ms, request.registered_later)
    return not policies_without_approval(request, policies, own)


def _lacks(
    predicate: CredentialPredicate,
    added: Iterable[CredentialValue],
    approving: Sequence[CredentialValue],
    everybody: EvaluationContext,
    *,
    allows: bool,
) -> bool:
    """Whether one of these credentials would help the policy, and no approval is by one that helps it alike."""

    def matches(credential: CredentialValue) -> bool | None:
        try:
            return predicate.matches(everybody, credential)
        except StepsExceeded:
            return None

    helpful = predicate.helpful(allows=allows)
    for credential in added:
        match = matches(credential)
        for value in helpful if match is None else helpful & {match}:
            if not any(
                matches(one) is value and (predicate.direction != EITHER or one["type"] == credential["type"])
                for one in approving
            ):
                return True
    return False
