"""Hearing every policy on one activity: what each says, and by which clause.

Here: the outcome of each policy, the budget they share, whom a consensus counts. Not here: which policy wins
(`judgement`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from keystead.api.enums import Effect
from keystead.policies.consensus import counts
from keystead.policies.expression import Broken, Expression, Situation, Value
from keystead.policies.facts import (
    Facts,
    NamedPolicy,
    condition_values,
    consensus_values,
    credential_values,
    user_value,
)
from keystead.policies.frame import STEPS_MAX, EvaluationError, Frame, spent
from keystead.policies.namespaces import Clause
from keystead.policies.policy import CompiledPolicy
from keystead.policies.standing import Kept, Standing
from keystead.policies.syntax import Place

DECISION_STEPS_MAX = 1_000_000
"""What the policies of an organization may cost together in one decision. Beyond it, only the root quorum allows:
a policy left unread might have denied."""
_STEPS_PER_USER = 100
"""What one consensus may cost further for each user, where it is asked of everybody."""
_FORESIGHT_PER_USER = 1_000
"""What all of them may cost further for each user. A consensus beyond that cannot be waited for."""

_TOO_COSTLY = EvaluationError(
    "not evaluated: the policies before this one took all the steps of a decision", Place(1, 1)
)


class Outcome(StrEnum):
    """What one policy said. No judgement says REJECTED or REQUIRES_AUTHENTICATORS: records of votes do."""

    ALLOW = "OUTCOME_ALLOW"
    DENY_EXPLICIT = "OUTCOME_DENY_EXPLICIT"
    DENY_IMPLICIT = "OUTCOME_DENY_IMPLICIT"
    REQUIRES_CONSENSUS = "OUTCOME_REQUIRES_CONSENSUS"
    REJECTED = "OUTCOME_REJECTED"
    ERROR = "OUTCOME_ERROR"
    REQUIRES_AUTHENTICATORS = "OUTCOME_REQUIRES_AUTHENTICATORS"
    TIME_INACTIVE = "OUTCOME_TIME_INACTIVE"


class PolicyEvaluation(msgspec.Struct, frozen=True):
    """What one policy said, and by which clause: the false one, the failed one, or the one that waits.

    No clause where all of them hold. `reason`: why the clause failed. `failed_closed`: it failed, and the policy
    denies all the same.
    """

    policy_id: str
    effect: Effect
    outcome: Outcome
    clause: Clause | None = None
    reason: str | None = None
    failed_closed: bool = False


def contributes_nothing(policy: CompiledPolicy, said: PolicyEvaluation, *, fail_closed: bool) -> bool:
    """Whether a policy said nothing that counts, and that not for its time or for who may still approve."""
    if said.outcome is Outcome.ERROR:
        may_deny = fail_closed and policy.effect is Effect.DENY
        return said.clause in (Clause.CONDITION, Clause.CONSENSUS) and not may_deny
    return said.outcome is Outcome.DENY_IMPLICIT and said.clause is Clause.CONDITION


_STANDING = Kept[Standing]()


class _Everybody(Mapping[str, Any]):
    """The values of a consensus as if every user had approved, with every credential. Made when first asked for:
    there may be many users, and few consensuses ask."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._made: dict[str, Any] = {}

    def __getitem__(self, keyword: str) -> Any:
        if keyword not in self._made:
            users = self._facts.users.values()
            self._made[keyword] = {
                "approvers": lambda: [user_value(user) for user in users],
                "credentials": lambda: [
                    credential for user in users for credential in credential_values(user, self._facts.now_ms)
                ],
            }[keyword]()
        return self._made[keyword]

    def __iter__(self) -> Iterator[str]:
        return iter(("approvers", "credentials"))

    def __len__(self) -> int:
        return 2


class Hearing:
    """What every policy says of an activity. `denying` are the policies that deny it."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._condition = Frame(condition_values(facts.activity, facts.resources))
        approving = consensus_values(facts.users, facts.approvals)
        self._consensus = Frame(approving)
        self._time = Frame({"time": {"now": facts.now_ms * 1_000_000}})
        self._everybody = Frame(_Everybody(facts))
        self._foresight_left = DECISION_STEPS_MAX + _FORESIGHT_PER_USER * len(facts.users)
        # What a condition sees of an activity follows from its type, all but the parameters and the resources.
        self._situation: Situation = (facts.activity.type, *facts.resources)
        self._varying = {*facts.resources, *(("params",) if facts.activity.params else ())}
        # All that a consensus sees.
        self._approving: Situation = tuple(
            (keyword, *each.values()) for keyword, items in approving.items() for each in items
        )
        self._attainable: dict[Expression, bool] = {}
        self._hear()
        self.denying = [
            each.policy_id for each in self._deciding if each.outcome is Outcome.DENY_EXPLICIT or each.failed_closed
        ]

    @property
    def costs_too_much(self) -> bool:
        return self._steps_left < 0

    def saying(self, outcome: Outcome) -> list[str]:
        """The policies of this outcome, one that allows, denies or waits."""
        return [each.policy_id for each in self._deciding if each.outcome is outcome]

    def _hear(self) -> None:
        """Ask every policy; only those that what stands leaves open, if this situation was met before."""
        policies = self._facts.policies
        situation = (self._situation, bool(self._facts.activity.params), self._approving, self._facts.fail_closed)
        standing = _STANDING.of(policies, situation)
        if standing is not None:
            self._begin(standing.values, DECISION_STEPS_MAX - standing.steps)
            evaluations = list(standing.evaluations)
            for place in standing.open:
                evaluations[place] = self._evaluation(policies[place])
            self.evaluations = tuple(evaluations)
            self._deciding = tuple([evaluations[place] for place in standing.open])
            if not self.costs_too_much:
                return
        # Which policies are left unread when the steps run out follows from their order.
        self._begin({}, DECISION_STEPS_MAX)
        self.evaluations = self._deciding = tuple([self._evaluation(named) for named in policies])
        if not self.costs_too_much:
            _STANDING.keep(policies, situation, self._standing())

    def _begin(self, values: Mapping[Expression | Broken, Value], steps: int) -> None:
        self._values = dict(values)
        self._kept_steps: dict[Expression, int] = {}
        self._steps_left = steps

    def _standing(self) -> Standing:
        """What the whole hearing found that holds of every request in this situation."""
        policies = [named.policy for named in self._facts.policies]
        stands = list(map(self._stands, policies, self.evaluations))
        expressions = {
            expression
            for policy, standing in zip(policies, stands, strict=True)
            if standing
            for expression in (policy.condition, policy.consensus)
            if isinstance(expression, Expression) and expression in self._kept_steps
        }
        return Standing(
            evaluations=self.evaluations,
            open=tuple([place for place, stand in enumerate(stands) if not stand]),
            values={expression: self._values[expression] for expression in expressions},
            steps=sum(self._kept_steps[expression] for expression in expressions),
        )

    def _stands(self, policy: CompiledPolicy, said: PolicyEvaluation) -> bool:
        """Whether the policy contributes nothing, and that for what is the same in this situation."""
        return not self._varies(policy.condition) and contributes_nothing(
            policy, said, fail_closed=self._facts.fail_closed
        )

    def _varies(self, condition: Expression | Broken | None) -> bool:
        """Whether two requests in this situation may differ in what the condition reads."""
        return isinstance(condition, Expression) and not condition.names.isdisjoint(self._varying)

    def _evaluation(self, named: NamedPolicy) -> PolicyEvaluation:
        policy = named.policy
        if self._steps_left < 0:
            return PolicyEvaluation(named.id, policy.effect, Outcome.ERROR, None, str(_TOO_COSTLY))
        condition = self._condition_value(policy.condition)
        if isinstance(condition, EvaluationError):
            return self._failed(named, Clause.CONDITION, condition)
        # Asked even where the condition is false: a clause that fails, fails the policy whatever the others say.
        consensus = self._consensus_value(policy.consensus)
        if isinstance(consensus, EvaluationError):
            return self._failed(named, Clause.CONSENSUS, consensus)
        if not condition:
            return PolicyEvaluation(named.id, policy.effect, Outcome.DENY_IMPLICIT, Clause.CONDITION)
        if not consensus and not self._may_wait(policy):
            return PolicyEvaluation(named.id, policy.effect, Outcome.DENY_IMPLICIT, Clause.CONSENSUS)
        time = self._value(policy.time, self._time)
        if isinstance(time, EvaluationError):
            return self._failed(named, Clause.TIME, time)
        if not time:
            return PolicyEvaluation(named.id, policy.effect, Outcome.TIME_INACTIVE, Clause.TIME)
        if not consensus:
            return PolicyEvaluation(named.id, policy.effect, Outcome.REQUIRES_CONSENSUS, Clause.CONSENSUS)
        applies = Outcome.ALLOW if policy.effect is Effect.ALLOW else Outcome.DENY_EXPLICIT
        return PolicyEvaluation(named.id, policy.effect, applies)

    def _condition_value(self, condition: Expression | Broken | None) -> Value:
        """Most conditions read nothing in which two requests of one type differ, often since it is absent: signing
        one chain's transaction, those about another chain's. Their values are found once."""
        if not isinstance(condition, Expression) or self._varies(condition):
            return self._value(condition, self._condition)
        return self._kept_value(condition, self._situation, self._condition)

    def _consensus_value(self, consensus: Expression | Broken | None) -> Value:
        """Who approves is, in most decisions, one of a few users, alone."""
        if not isinstance(consensus, Expression):
            return self._value(consensus, self._consensus)
        return self._kept_value(consensus, self._approving, self._consensus)

    def _kept_value(self, expression: Expression, situation: Situation, frame: Frame) -> Value:
        known = self._values.get(expression)
        if known is None:
            known, steps = expression.evaluate_once(situation, frame)
            self._values[expression] = known
            self._kept_steps[expression] = steps
            self._steps_left -= steps
        return known

    def _value(self, expression: Expression | Broken | None, frame: Frame) -> Value:
        if expression is None:
            return True
        # Policies share expressions, above all who and when, and equal texts are one expression.
        known = self._values.get(expression)
        if known is not None:
            return known
        value = self._values[expression] = expression.evaluate_in(frame)
        self._steps_left -= spent(frame, STEPS_MAX)
        return value

    def _failed(self, named: NamedPolicy, clause: Clause, error: EvaluationError) -> PolicyEvaluation:
        """A policy that fails contributes nothing; where failures deny, a DENY policy that may apply denies."""
        policy = named.policy
        failed_closed = self._facts.fail_closed and policy.effect is Effect.DENY and self._may_apply(policy)
        return PolicyEvaluation(named.id, policy.effect, Outcome.ERROR, clause, str(error), failed_closed)

    def _may_apply(self, policy: CompiledPolicy) -> bool:
        """Whether no clause is certainly false."""
        clauses = (
            (policy.condition, self._condition),
            (policy.consensus, self._consensus),
            (policy.time, self._time),
        )
        for expression, frame in clauses:
            if expression is not None:
                value = expression.weigh_in(frame)
                self._steps_left -= spent(frame, STEPS_MAX)
                if value is False:
                    return False
        return True

    def _may_wait(self, policy: CompiledPolicy) -> bool:
        """Whether an ALLOW policy, its consensus unmet, could be met and counts the submitter."""
        return policy.effect is Effect.ALLOW and self.counts(policy.consensus, self._facts.submitter_id)

    def open_consensuses(self) -> list[Expression]:
        """The consensuses of the ALLOW policies that would allow the activity now, once met."""
        return [
            named.policy.consensus
            for named, said in zip(self._facts.policies, self.evaluations, strict=True)
            if named.policy.effect is Effect.ALLOW
            and isinstance(named.policy.consensus, Expression)
            and (said.reason is None and said.clause in (None, Clause.CONSENSUS))
            and self._value(named.policy.time, self._time) is True
        ]

    def counts(self, consensus: Expression | Broken | None, user_id: str) -> bool:
        """Whether a consensus counts this user, and could be met at all."""
        user = self._facts.users.get(user_id)
        if user is None or not isinstance(consensus, Expression) or self._foresight_left < 0:
            return False
        credentials = credential_values(user, self._facts.now_ms)
        counted = counts(consensus.text, self._everybody, user_value(user), credentials)
        self._foresight_left -= spent(self._everybody, STEPS_MAX)
        return counted and self._is_attainable(consensus)

    def _is_attainable(self, consensus: Expression) -> bool:
        """Whether a consensus holds once everybody has approved."""
        if consensus not in self._attainable:
            steps = min(self._foresight_left, STEPS_MAX + _STEPS_PER_USER * len(self._facts.users))
            self._attainable[consensus] = consensus.evaluate_in(self._everybody, steps) is True
            self._foresight_left -= spent(self._everybody, steps)
        return self._attainable[consensus]
