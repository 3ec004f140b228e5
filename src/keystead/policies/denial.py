"""A judgement in words: the refusal that a caller gets.

Not here: the judgement itself (`judgement`).
"""

from __future__ import annotations

from keystead.api.errors import PermissionDenied
from keystead.policies.judgement import Judgement, Rule, Verdict

_WHY = {
    Rule.ROOT_ONLY: "Only members of the root quorum can take it.",
    Rule.DENY_POLICY: "A policy denies it.",
    Rule.COST: "The policies of the organization take more steps than a decision may; the root quorum can take it.",
}
_NOTHING_ALLOWS = "A member of the root quorum can take it, or a policy must allow it."


def denied(judgement: Judgement, activity_type: str, activity_id: str) -> PermissionDenied:
    """The refusal of an activity that was judged so. It names every policy and its outcome, and the id under which
    the evaluation is kept."""
    if judgement.verdict is Verdict.DENY_EXPLICIT:
        message = f"The following policies denied this action: {', '.join(judgement.policy_ids)}"
    else:
        message = "No policies evaluated to outcome: Allow"
    return PermissionDenied(
        f"You don't have sufficient permissions to take this action ({activity_type}). "
        f"{_WHY.get(judgement.rule, _NOTHING_ALLOWS)}",
        machine_code="",
        details=[
            {
                "@type": "type.googleapis.com/errors.v1.PolicyEnginePermissionError",
                "message": message,
                "activityId": activity_id,
                "policyEvaluations": [
                    {"policyId": each.policy_id, "outcome": str(each.outcome)} for each in judgement.evaluations
                ],
            }
        ],
    )
