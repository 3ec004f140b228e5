"""Evaluating the policies that can apply to a request: the outcome of each, and which users their consensuses
count.

Here: one evaluation, with the budget that the policies share. Not here: which policy decides (`authorize`), which
policies can apply to a request (`policy_set`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Final

from keystead.api.enums import Effect
from keystead.policies.bounds import DECISION_STEPS_MAX, EXPRESSION_STEPS_MAX
from keystead.policies.language import evaluation_context
from keystead.policies.language.evaluation_context import Budget
from keystead.policies.language.expression import CompiledExpression
from keystead.policies.language.namespaces import Clause
from keystead.policies.policy import CompiledPolicy
from keystead.policies.policy_evaluation import EvaluationOutcome, PolicyEvaluation
from keystead.policies.policy_set import PolicySet, RequestShape
from keystead.policies.request import (
    Approval,
    AuthorizationRequest,
    EverybodyValues,
    condition_values,
    consensus_values,
    credential_values,
    time_values,
    user_value,
)

_STEPS_PER_USER: Final = 20
"""Further steps of one consensus for each user, when it is evaluated as if all users had approved."""
_COUNTING_STEPS_PER_USER: Final = 30
"""Further steps of all consensuses for each user, to find out whom they count. A consensus that needs more does not
make an activity wait."""

_NOT_EVALUATED: Final = "not evaluated: the policies before this one took all the steps of a decision"


class PolicyEvaluator:
    """The evaluation of the policies for one request. `evaluations`: the evaluation of every policy, in order.
    `denying`: the ids of the policies that deny."""

    def __init__(self, request: AuthorizationRequest, policies: PolicySet) -> None:
        self._request = request
        self._condition = evaluation_context.EvaluationContext(
            condition_values(request.activity, request.resources)
        )
        self._time = evaluation_context.EvaluationContext(time_values(request.now_ms))
        self._everybody = evaluation_context.EvaluationContext(EverybodyValues(request))
        # Policies share expressions, most often those of consensus and time: each is evaluated once for a request.
        self._values: dict[CompiledExpression, evaluation_context.Value] = {}
        self._attainable: dict[CompiledExpression, bool] = {}
        self._slice = policies.slice(RequestShape(request.activity.type, self._condition.keywords))
        self._open = [policies.policies[position] for position in self._slice.open]
        self._evaluate_all()

    def with_approvals(self, request: AuthorizationRequest) -> PolicyEvaluator:
        """The evaluation for the same request with other approvals. Only consensuses are evaluated again."""
        other = copy.copy(self)
        other._request = request
        other._evaluate_all()
        return other

    def _evaluate_all(self) -> None:
        request = self._request
        counting_steps = DECISION_STEPS_MAX + _COUNTING_STEPS_PER_USER * len(request.users)
        self._budget = Budget(DECISION_STEPS_MAX // request.batch_size)
        self._counting_budget = Budget(counting_steps // request.batch_size)
        self._consensus = evaluation_context.EvaluationContext(consensus_values(request.users, request.approvals))
        self._consensus_values: dict[CompiledExpression, evaluation_context.Value] = {}
        self._open_evaluations = [self._evaluate(policy) for policy in self._open]
        evaluations = list(self._slice.settled)
        for position, evaluation in zip(self._slice.open, self._open_evaluations, strict=True):
            evaluations[position] = evaluation
        self.evaluations = tuple(evaluations)
        self.denying = self.policies_with(EvaluationOutcome.DENY_EXPLICIT)

    @property
    def costs_too_much(self) -> bool:
        return self._budget.is_exceeded

    @property
    def has_no_counting_steps_left(self) -> bool:
        """Whether all steps are used that may be taken to find out whom consensuses count."""
        return self._counting_budget.is_exceeded

    def policies_with(self, outcome: EvaluationOutcome) -> list[str]:
        """The ids of the policies with this outcome, which must be one that a slice never settles: ALLOW,
        DENY_EXPLICIT, REQUIRES_CONSENSUS."""
        return [evaluation.policy_id for evaluation in self._open_evaluations if evaluation.outcome is outcome]

    def _evaluate(self, policy: CompiledPolicy) -> PolicyEvaluation:
        if self.costs_too_much:
            return PolicyEvaluation(policy.id, policy.effect, EvaluationOutcome.ERROR, None, _NOT_EVALUATED)
        is_allow = policy.effect is Effect.ALLOW
        doubt = None
        for clause, expression, context in (
            (Clause.CONDITION, policy.condition, self._condition),
            (Clause.CONSENSUS, policy.consensus, self._consensus),
            (Clause.TIME, policy.time, self._time),
        ):
            value = self._value(expression, context)
            if value is False:
                if clause is Clause.CONSENSUS and doubt is None and self._may_wait(policy):
                    return self._evaluation_of_waiting(policy)
                outcome = (
                    EvaluationOutcome.TIME_INACTIVE if clause is Clause.TIME else EvaluationOutcome.DENY_IMPLICIT
                )
                return PolicyEvaluation(policy.id, policy.effect, outcome, clause)
            if isinstance(value, evaluation_context.Unknown) and is_allow and value.other_version:
                return PolicyEvaluation(
                    policy.id, policy.effect, EvaluationOutcome.DENY_IMPLICIT, clause, str(value)
                )
            if isinstance(value, evaluation_context.NotApplicable) or (
                isinstance(value, evaluation_context.Unknown) and is_allow
            ):
                return PolicyEvaluation(policy.id, policy.effect, EvaluationOutcome.ERROR, clause, str(value))
            if isinstance(value, evaluation_context.Unknown):
                doubt = doubt or (clause, str(value))
        applies = EvaluationOutcome.ALLOW if is_allow else EvaluationOutcome.DENY_EXPLICIT
        return PolicyEvaluation(policy.id, policy.effect, applies, *(doubt or ()))

    def _evaluation_of_waiting(self, policy: CompiledPolicy) -> PolicyEvaluation:
        """The evaluation of an ALLOW policy whose consensus needs more approvals."""
        time = self._value(policy.time, self._time)
        if time is True:
            return PolicyEvaluation(
                policy.id, policy.effect, EvaluationOutcome.REQUIRES_CONSENSUS, Clause.CONSENSUS
            )
        if time is False:
            return PolicyEvaluation(policy.id, policy.effect, EvaluationOutcome.TIME_INACTIVE, Clause.TIME)
        return PolicyEvaluation(policy.id, policy.effect, EvaluationOutcome.ERROR, Clause.TIME, str(time))

    def _value(
        self, expression: CompiledExpression | None, context: evaluation_context.EvaluationContext
    ) -> evaluation_context.Value:
        if expression is None:
            return True
        values = self._consensus_values if context is self._consensus else self._values
        known = values.get(expression)
        if known is None:
            known = values[expression] = expression.evaluate(context, self._budget)
        return known

    def _may_wait(self, policy: CompiledPolicy) -> bool:
        """Whether the consensus of this ALLOW policy could be met by more approvals, and counts the submitter."""
        return policy.effect is Effect.ALLOW and self.counts(policy.consensus, self._request.submitter_id)

    def open_consensuses(self) -> list[CompiledExpression]:
        """The consensuses of the ALLOW policies that would allow the activity if they were met."""
        return [
            policy.consensus
            for policy, evaluation in zip(self._open, self._open_evaluations, strict=True)
            if policy.effect is Effect.ALLOW
            and policy.consensus is not None
            and (evaluation.reason is None and evaluation.clause in (None, Clause.CONSENSUS))
            and self._value(policy.time, self._time) is True
        ]

    def counts(self, consensus: CompiledExpression | None, user_id: str) -> bool:
        """Whether a consensus counts this user, and could be met at all."""
        user = self._request.users.get(user_id)
        if user is None or consensus is None or self.has_no_counting_steps_left:
            return False
        credentials = credential_values(user, self._request.now_ms, self._request.registered_later)
        counted = consensus.counts(self._everybody, user_value(user), credentials, self._counting_budget)
        return counted and self._is_attainable(consensus)

    def is_met_with(self, consensus: CompiledExpression, user_ids: Sequence[str]) -> bool:
        """Whether a consensus is met once these users have approved, too, with no credential in particular. False
        once there are no counting steps left."""
        if self.has_no_counting_steps_left:
            return False
        approvals = [*self._request.approvals, *(Approval(user_id, None) for user_id in user_ids)]
        context = evaluation_context.EvaluationContext(consensus_values(self._request.users, approvals))
        return consensus.evaluate(context, self._counting_budget) is True

    def _is_attainable(self, consensus: CompiledExpression) -> bool:
        """Whether a consensus is true once all users have approved."""
        if consensus not in self._attainable:
            steps_max = EXPRESSION_STEPS_MAX + _STEPS_PER_USER * len(self._request.users)
            value = consensus.evaluate(self._everybody, self._counting_budget, steps_max)
            self._attainable[consensus] = value is True
        return self._attainable[consensus]
