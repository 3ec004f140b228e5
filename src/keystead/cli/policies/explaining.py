"""A decision as text: the verdict, and the outcome of every policy with its clause and reason.

Here: one form for recorded decisions and for those of a test. Not here: reading them (`policies`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

import msgspec

from keystead.api.enums import Effect
from keystead.api.records import Evaluation, Policy
from keystead.cli.texts import printable
from keystead.policies.authorize import Decision
from keystead.policies.policy_evaluation import EvaluationOutcome

_OF_ALLOW = frozenset(
    {
        EvaluationOutcome.ALLOW,
        EvaluationOutcome.REQUIRES_CONSENSUS,
        EvaluationOutcome.REQUIRES_AUTHENTICATORS,
        EvaluationOutcome.REJECTED,
    }
)
"""Outcomes that only ALLOW policies have."""


class ShownPolicy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The outcome of one policy. `decides`: the decision follows from it. `note`: whether the policy was changed or
    deleted since.

    `reason`: what its clause names that is unknown, or that the activity does not have.
    """

    policy_id: str
    policy_name: str | None
    effect: str | None
    outcome: str
    clause: str | None = None
    reason: str | None = None
    decides: bool = False
    note: str = ""


class ShownDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision, ready to print. `verdict` and `rule`: the sentences of `policies.authorize`."""

    verdict: str
    rule: str
    policies: tuple[ShownPolicy, ...]


def decision_on_record(evaluation: Evaluation, policies: Mapping[str, Policy]) -> ShownDecision:
    """A recorded evaluation. `policies`: those of today, by id. They may have been changed or deleted since."""
    shown = []
    for recorded in evaluation.policy_evaluations:
        policy = policies.get(recorded.policy_id)
        note = "deleted since"
        if policy is not None:
            note = "changed since" if policy.updated_at.epoch_ms > evaluation.created_at.epoch_ms else ""
        shown.append(
            ShownPolicy(
                policy_id=recorded.policy_id,
                policy_name=None if policy is None else policy.policy_name,
                effect=_effect(recorded.outcome) if policy is None else str(policy.effect),
                outcome=recorded.outcome,
                clause=recorded.clause,
                reason=recorded.reason,
                decides=recorded.policy_id in evaluation.policy_ids,
                note=note,
            )
        )
    return ShownDecision(verdict=evaluation.verdict, rule=evaluation.rule, policies=tuple(shown))


def decision_of_test(decision: Decision) -> ShownDecision:
    """The decision of a test. There, the id of a policy is its name."""
    return ShownDecision(
        verdict=decision.verdict.value,
        rule=decision.rule.value,
        policies=tuple(
            ShownPolicy(
                policy_id=evaluated.policy_id,
                policy_name=evaluated.policy_id,
                effect=str(evaluated.effect),
                outcome=str(evaluated.outcome),
                clause=None if evaluated.clause is None else str(evaluated.clause),
                reason=evaluated.reason,
                decides=evaluated.policy_id in decision.policy_ids,
            )
            for evaluated in decision.evaluations
        ),
    )


def headline(decision: ShownDecision) -> str:
    """A line such as "deny: a policy denies it ('No deletions')"."""
    word = decision.verdict.partition(":")[0]
    deciding = ", ".join(repr(_name(policy)) for policy in decision.policies if policy.decides)
    return f"{word}: {decision.rule}" + (f" ({deciding})" if deciding else "")


def policy_lines(decision: ShownDecision) -> Iterator[str]:
    """A line for each policy. Those that decide are marked."""
    if not decision.policies:
        yield "no policy was evaluated"
        return
    rows = [(_name(policy), _short(policy.effect or "?"), _short(policy.outcome)) for policy in decision.policies]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for policy, row in zip(decision.policies, rows, strict=True):
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        note = f" [{policy.note}]" if policy.note else ""
        yield f"{'>' if policy.decides else ' '} {cells}  {_explanation(policy)}{note}"


def _explanation(shown: ShownPolicy) -> str:
    clause = shown.clause or "clause"
    reason = printable(shown.reason or "")
    if shown.outcome not in set(EvaluationOutcome):
        return reason  # an outcome that only a newer server knows
    match outcome := EvaluationOutcome(shown.outcome):
        case EvaluationOutcome.ALLOW | EvaluationOutcome.DENY_EXPLICIT:
            return f"may apply: in its {clause}, {reason}" if reason else "applies: every clause is true"
        case EvaluationOutcome.DENY_IMPLICIT:
            return (
                f"does not apply: in its {clause}, {reason}" if reason else f"does not apply: its {clause} is false"
            )
        case EvaluationOutcome.REQUIRES_CONSENSUS:
            return f"its {clause} needs more approvals"
        case EvaluationOutcome.REQUIRES_AUTHENTICATORS:
            return "applies, and waits for proofs that an MFA policy asks for"
        case EvaluationOutcome.REJECTED:
            return "could have allowed it without the rejection"
        case EvaluationOutcome.TIME_INACTIVE:
            return "would apply at another time: its time is false"
        case EvaluationOutcome.ERROR:
            return f"does not apply: in its {shown.clause}, {reason}" if shown.clause else reason
        case _:
            assert_never(outcome)


def _name(shown: ShownPolicy) -> str:
    return printable(shown.policy_name or shown.policy_id)


def _short(word: str) -> str:
    return printable(word.removeprefix("EFFECT_").removeprefix("OUTCOME_"))


def _effect(outcome: str) -> str | None:
    """The effect of a deleted policy, if its outcome shows it."""
    if outcome in _OF_ALLOW:
        return str(Effect.ALLOW)
    return str(Effect.DENY) if outcome == EvaluationOutcome.DENY_EXPLICIT else None


def decision_as_json(decision: ShownDecision) -> dict[str, Any]:
    """The decision as a JSON object, with the names that the API uses."""
    return {
        "verdict": decision.verdict,
        "rule": decision.rule,
        "policyEvaluations": [msgspec.to_builtins(shown) for shown in decision.policies],
    }
