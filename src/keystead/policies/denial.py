"""A judgement in words: the refusal that a caller gets, and the explanation that an operator reads.

Not here: the judgement itself (`judgement`).
"""

from __future__ import annotations

from collections.abc import Iterator

from keystead.api.enums import Effect
from keystead.api.errors import PermissionDenied
from keystead.policies.hearing import Outcome, PolicyEvaluation
from keystead.policies.judgement import Judgement, Rule, Verdict

_WHY = {
    Rule.ROOT_ONLY: "Only members of the root quorum can take it.",
    Rule.DENY_POLICY: "A policy denies it.",
    Rule.COST: "The policies of the organization take more steps than a decision may; the root quorum can take it.",
}
_NOTHING_ALLOWS = "A member of the root quorum can take it, or a policy must allow it."


def denied(judgement: Judgement, activity_type: str) -> PermissionDenied:
    """The refusal of an activity that was judged so. It names every policy and its outcome."""
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
                "policyEvaluations": [
                    {"policyId": each.policy_id, "outcome": str(each.outcome)} for each in judgement.evaluations
                ],
            }
        ],
    )


def explained(judgement: Judgement) -> Iterator[str]:
    """The judgement, a line for the verdict and one for each policy that was looked at."""
    by = f" ({', '.join(judgement.policy_ids)})" if judgement.policy_ids else ""
    yield f"{judgement.verdict.value}: {judgement.rule.value}{by}"
    if not judgement.evaluations:
        yield "no policy was looked at"
    for each in judgement.evaluations:
        yield f"policy {each.policy_id} ({each.effect}): {each.outcome}: {_said(each)}"


def _said(evaluation: PolicyEvaluation) -> str:
    clause = evaluation.clause
    match evaluation.outcome:
        case Outcome.ERROR if evaluation.failed_closed:
            return f"its {clause} failed, and it denies because failing is set to deny: {evaluation.error}"
        case Outcome.ERROR if evaluation.effect is Effect.DENY and clause is not None:
            return f"its {clause} failed, so it denies nothing, even where it was meant to: {evaluation.error}"
        case Outcome.ERROR if clause is not None:
            return f"its {clause} failed, so it allows nothing: {evaluation.error}"
        case Outcome.ERROR:
            return str(evaluation.error)
        case Outcome.TIME_INACTIVE:
            return "it would apply at another time"
        case Outcome.REQUIRES_CONSENSUS:
            return "its condition is true; its consensus needs more approvals"
        case Outcome.DENY_IMPLICIT:
            return f"it does not apply: its {clause} is false"
        case _:
            return "it applies: all of it is true"
