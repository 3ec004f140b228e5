"""May an activity add credentials, given by which credentials it is approved?

A credential that the consensus of a policy would count is added only with an approval by a credential that it
counts too. Otherwise one stolen API key would be enough to register a passkey, and to approve with that. Not here:
what a consensus counts (`credential_predicates`), the order of the rules (`authorize`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from keystead.api.enums import Effect
from keystead.policies.consensus import CredentialValue
from keystead.policies.credential_predicates import EITHER, CredentialPredicate
from keystead.policies.evaluation_context import STEPS_MAX, EvaluationContext, StepsExceeded
from keystead.policies.policy_set import PolicySet
from keystead.policies.request import AuthorizationRequest, consensus_values, credential_values, user_value

_STEPS_PER_USER: Final = 50
"""Further steps of one predicate for each user, because it may be asked for each of them."""


def policies_without_approval(
    request: AuthorizationRequest, policies: PolicySet, further: Sequence[CredentialValue] = ()
) -> list[str]:
    """The ids of the policies whose consensus would count a credential that the activity adds, and counts none of
    the credentials that approve it so far. `further`: credentials that might approve it, too."""
    if not request.added:
        return []
    approving = [*consensus_values(request.users, request.approvals)["credentials"], *further]
    users = [user_value(user) for user in request.users.values()]
    everybody = EvaluationContext(
        {
            "approvers": [*users, *request.new_users],
            "credentials": [
                credential
                for user in request.users.values()
                for credential in credential_values(user, request.now_ms, request.registered_later)
            ],
        }
    )
    steps = STEPS_MAX + _STEPS_PER_USER * len(users)
    return [
        policy.id
        for policy in policies.with_credentials
        if policy.consensus is not None
        and any(
            _lacks(predicate, request.added, approving, everybody, steps, allows=policy.effect is Effect.ALLOW)
            for predicate in policy.consensus.credential_predicates
        )
    ]


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
    steps: int,
    *,
    allows: bool,
) -> bool:
    """Whether one of these credentials would help the policy, and no approval is by one that helps it alike."""

    def matches(credential: CredentialValue) -> bool | None:
        everybody.steps = steps
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
