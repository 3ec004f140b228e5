"""The error that a denied caller gets.

Not here: the decision itself (`authorize`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from keystead.api.errors import Denied
from keystead.policies.authorize import Decision, Rule, Verdict

_WHY = {
    Rule.ROOT_ONLY: "Only members of the root quorum can take it.",
    Rule.DENY_POLICY: "A policy denies it.",
    Rule.RAW_PAYLOAD: (
        "Policies of the organization restrict transactions, and this server then refuses raw payloads, which may "
        "be transactions. Sign it as a transaction, or have the root quorum take the action."
    ),
    Rule.SESSION_SCOPE: "The session's profile does not cover it; a credential without a profile may.",
    Rule.ADDED_CREDENTIAL: (
        "The consensus of a policy would count the credential that it adds, so an approval with a credential that "
        "the policy counts is needed; or the root quorum can take it."
    ),
    Rule.COST: "The policies of the organization take more steps than a decision may; the root quorum can take it.",
}
_NOTHING_ALLOWS = "A member of the root quorum can take it, or a policy must allow it."


class ReachedLimit(Protocol):
    """A velocity control that the activity is beyond."""

    def details(self) -> dict[str, str]: ...

    def sentence(self) -> str: ...


def denied(decision: Decision, activity_type: str, activity_id: str, limits: Sequence[ReachedLimit] = ()) -> Denied:
    """The refusal of an activity by this decision.

    It names every evaluated policy with its outcome, and each of the `limits` that the activity is
    beyond. `activity_id`: the
    id under which the evaluation is stored.
    """
    if decision.rule is Rule.SESSION_SCOPE:
        message = "The session profile denied this action"
    elif decision.verdict is Verdict.DENY_EXPLICIT:
        message = f"The following policies denied this action: {', '.join(decision.policy_ids)}"
    else:
        message = "No policies evaluated to outcome: Allow"
    return Denied(
        f"You don't have sufficient permissions to take this action ({activity_type}). "
        f"{' '.join([_WHY.get(decision.rule, _NOTHING_ALLOWS), *[limit.sentence() for limit in limits]])}",
        activity_id=activity_id,
        details=[
            {
                "@type": "type.googleapis.com/errors.v1.PolicyEnginePermissionError",
                "message": message,
                "activityId": activity_id,
                "policyEvaluations": [
                    {"policyId": evaluation.policy_id, "outcome": str(evaluation.outcome)}
                    for evaluation in decision.evaluations
                ],
                **({"velocityControls": [limit.details() for limit in limits]} if limits else {}),
            }
        ],
    )
