"""A decision as text: the verdict, and the outcome of every policy with its clause and reason.

Here: one form for decisions on record and for those of a test. Not here: where they are read from (`policies`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, assert_never

import msgspec

from keystead.api.enums import Effect
from keystead.api.records import Evaluation, Policy
from keystead.cli.texts import printable
from keystead.policies.authorize import Decision, Rule
from keystead.policies.linting.denials import is_settled_by_type
from keystead.policies.policy_evaluation import EvaluationOutcome

FAILED_DENIAL = (
    "WARNING  a DENY policy that fails denies nothing (docs/policies.md): rewrite it, or set "
    "KEYSTEAD_DENY_POLICIES_FAIL_CLOSED on the server"
)
_FAILED_CLOSED = (
    "WARNING  it failed, and denies: a value cannot be read, or the server is set to deny on any failure"
)
_UNTOLD = (
    "WARNING  a DENY policy that fails denies nothing, unless the server is set to deny then (docs/policies.md)"
)
_NOT_THIS = "it was not meant for this activity: its condition is false whatever the failed part is"


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
    """The outcome of one policy. `decides`: the decision follows from it. `note`: how the policy changed since.

    `failed_closed`: it failed and denies nevertheless; None if that is not on record. `might_apply` is False if it
    failed and the rest of its condition is false for this activity anyway.
    """

    policy_id: str
    policy_name: str | None
    effect: str | None
    outcome: str
    clause: str | None = None
    reason: str | None = None
    decides: bool = False
    note: str = ""
    failed_closed: bool | None = False
    might_apply: bool = True

    @property
    def is_failed_denial(self) -> bool:
        return self.effect == Effect.DENY and self.outcome == EvaluationOutcome.ERROR and self.clause is not None


class ShownDecision(msgspec.Struct, frozen=True, kw_only=True):
    """`verdict` and `rule` are the sentences of `policies.authorize`."""

    verdict: str
    rule: str
    policies: tuple[ShownPolicy, ...]


def decision_on_record(
    evaluation: Evaluation, policies: Mapping[str, Policy], activity_type: str | None
) -> ShownDecision:
    """A recorded evaluation. `policies` are those of today, by id: one may have changed or been deleted since."""
    shown = []
    for each in evaluation.policy_evaluations:
        decides = each.policy_id in evaluation.policy_ids
        failed_closed: bool | None = False
        if each.outcome == EvaluationOutcome.ERROR:
            # Only a decision by denials tells which failures denied.
            waits = evaluation.rule == Rule.ROOT_QUORUM_BELOW_THRESHOLD.value
            failed_closed = None if waits else decides and evaluation.rule == Rule.DENY_POLICY.value
        policy = policies.get(each.policy_id)
        note = "deleted since"
        if policy is not None:
            note = "changed since" if policy.updated_at.epoch_ms > evaluation.created_at.epoch_ms else ""
        shown.append(
            ShownPolicy(
                policy_id=each.policy_id,
                policy_name=None if policy is None else policy.policy_name,
                effect=_effect(each.outcome) if policy is None else str(policy.effect),
                outcome=each.outcome,
                clause=each.clause,
                reason=each.reason,
                decides=decides,
                note=note,
                failed_closed=failed_closed,
                might_apply=each.outcome != EvaluationOutcome.ERROR
                or not (
                    policy and not note and activity_type and is_settled_by_type(policy.condition, activity_type)
                ),
            )
        )
    return ShownDecision(verdict=evaluation.verdict, rule=evaluation.rule, policies=tuple(shown))


def decision_of_test(decision: Decision, unsafe: Collection[str]) -> ShownDecision:
    """The decision of a test, where a policy's id is its name. `unsafe`: policies that failed and might have
    applied."""
    return ShownDecision(
        verdict=decision.verdict.value,
        rule=decision.rule.value,
        policies=tuple(
            ShownPolicy(
                policy_id=each.policy_id,
                policy_name=each.policy_id,
                effect=str(each.effect),
                outcome=str(each.outcome),
                clause=None if each.clause is None else str(each.clause),
                reason=each.reason,
                decides=each.policy_id in decision.policy_ids,
                failed_closed=each.failed_closed,
                might_apply=each.reason is None or each.failed_closed or each.policy_id in unsafe,
            )
            for each in decision.evaluations
        ),
    )


def headline(decision: ShownDecision) -> str:
    """A line such as "deny: a policy denies it ('No deletions')"."""
    word = decision.verdict.partition(":")[0]
    by = ", ".join(repr(_name(each)) for each in decision.policies if each.decides)
    return f"{word}: {decision.rule}" + (f" ({by})" if by else "")


def policy_lines(decision: ShownDecision) -> Iterator[str]:
    """A line for each policy, and one more for each DENY policy that failed. Those that decide are marked."""
    if not decision.policies:
        yield "no policy was evaluated"
        return
    rows = [(_name(each), _short(each.effect or "?"), _short(each.outcome)) for each in decision.policies]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for each, row in zip(decision.policies, rows, strict=True):
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        note = f" [{each.note}]" if each.note else ""
        yield f"{'>' if each.decides else ' '} {cells}  {_why(each)}{note}"
        if each.is_failed_denial:
            yield f"    {_warning(each)}"


def _warning(shown: ShownPolicy) -> str:
    if not shown.might_apply:
        return _NOT_THIS
    if shown.failed_closed is None:
        return _UNTOLD
    return _FAILED_CLOSED if shown.failed_closed else FAILED_DENIAL


def _why(shown: ShownPolicy) -> str:
    clause = shown.clause or "clause"
    reason = printable(shown.reason or "")
    if shown.outcome not in set(EvaluationOutcome):
        return reason  # of a newer server
    match outcome := EvaluationOutcome(shown.outcome):
        case EvaluationOutcome.ALLOW | EvaluationOutcome.DENY_EXPLICIT:
            return "applies: every clause is true"
        case EvaluationOutcome.DENY_IMPLICIT:
            return f"does not apply: its {clause} is false"
        case EvaluationOutcome.REQUIRES_CONSENSUS:
            return f"its {clause} needs more approvals"
        case EvaluationOutcome.REQUIRES_AUTHENTICATORS:
            return "applies, and waits for proofs that an MFA policy asks for"
        case EvaluationOutcome.REJECTED:
            return "could have allowed it without the rejection"
        case EvaluationOutcome.TIME_INACTIVE:
            return "would apply at another time: its time is false"
        case EvaluationOutcome.ERROR:
            return f"its {shown.clause} failed: {reason}" if shown.clause else reason
        case _:
            assert_never(outcome)


def _name(shown: ShownPolicy) -> str:
    return printable(shown.policy_name or shown.policy_id)


def _short(word: str) -> str:
    return printable(word.removeprefix("EFFECT_").removeprefix("OUTCOME_"))


def _effect(outcome: str) -> str | None:
    """The effect of a deleted policy, as far as its outcome tells it."""
    if outcome in _OF_ALLOW:
        return str(Effect.ALLOW)
    return str(Effect.DENY) if outcome == EvaluationOutcome.DENY_EXPLICIT else None


def plain(decision: ShownDecision) -> dict[str, Any]:
    """The decision as JSON, in the words of the wire."""
    return {
        "verdict": decision.verdict,
        "rule": decision.rule,
        "policyEvaluations": [msgspec.to_builtins(shown) for shown in decision.policies],
    }
