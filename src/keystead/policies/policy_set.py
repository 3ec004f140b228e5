"""The policies of an organization, compiled together, and the slice of them that can apply to a request.

Here: `PolicySet`, and its slices by the shape of a request. A slice depends on the policies and the shape alone.
Not here: the sets of many organizations (`pipeline.policy_set_cache`), the evaluation of a slice (`evaluator`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from keystead.api.records import Policy
from keystead.policies.language.evaluation_context import Budget, EvaluationContext, NotApplicable, Value
from keystead.policies.language.expression import CompiledExpression, ExpressionSource
from keystead.policies.language.namespaces import Clause
from keystead.policies.policy import CompiledPolicy, sources_of
from keystead.policies.policy_evaluation import EvaluationOutcome, PolicyEvaluation
from keystead.policies.request import RequestedActivity, condition_values

SLICES_MAX: Final = 64
"""The most shapes whose slices one set keeps. The requests of an organization have some ten shapes."""

SLICE_STEPS_MAX: Final = 100_000
"""The most steps to make one slice: 20 ms."""
_SETTLING_STEPS_MAX: Final = 5_000
"""The most steps of one condition in a slice. A condition that takes more is left open: each decision evaluates
it."""


class RequestShape(NamedTuple):
    """The properties of a request that determine which policies can apply to it.

    `keywords`: those that a condition of the request has. For conditions, two requests of one shape differ only in
    the values of keywords that the activity type does not settle.
    """

    activity_type: str
    keywords: frozenset[str]


_SETTLED_BY_TYPE: Final = frozenset({"activity.type", "activity.kind", "activity.resource", "activity.action"})


class PolicySlice(msgspec.Struct, frozen=True):
    """The policies of a set for one shape. `settled`: the evaluation of every policy, in order. `open`: the
    positions of the policies that depend on more than the shape; their evaluations in `settled` are
    placeholders."""

    settled: tuple[PolicyEvaluation, ...]
    open: tuple[int, ...]


class PolicySet:
    """The compiled policies of an organization, in order of creation.

    `with_credentials`: those whose consensus reads credentials. `controls`: the velocity controls that conditions
    name. `reads_transactions`: some condition reads transactions. `reads_time`: their decision may change with time
    alone, because a policy reads the time, or credentials, which expire.
    """

    def __init__(self, policies: Iterable[CompiledPolicy]) -> None:
        self.policies = tuple(policies)
        self.reads_transactions = any(
            policy.condition is not None and policy.condition.names_transactions for policy in self.policies
        )
        self.with_credentials = tuple(
            policy
            for policy in self.policies
            if policy.consensus is not None and policy.consensus.credential_predicates
        )
        self.reads_time = bool(self.with_credentials) or any(policy.time is not None for policy in self.policies)
        self.controls = frozenset(
            name for policy in self.policies if policy.condition is not None for name in policy.condition.controls
        )
        self._slices: dict[RequestShape, PolicySlice] = {}

    def slice(self, shape: RequestShape) -> PolicySlice:
        """The evaluations that the shape settles, and the policies that it leaves open."""
        policy_slice = self._slices.get(shape)
        if policy_slice is None:
            if len(self._slices) >= SLICES_MAX:
                del self._slices[next(iter(self._slices))]
            policy_slice = self._slices[shape] = self._make_slice(shape)
        return policy_slice

    def _make_slice(self, shape: RequestShape) -> PolicySlice:
        values = condition_values(RequestedActivity(type=shape.activity_type), {})
        context = EvaluationContext(values, shape.keywords)
        settled: list[PolicyEvaluation] = []
        left_open: list[int] = []
        budget = Budget(SLICE_STEPS_MAX)
        for position, policy in enumerate(self.policies):
            evaluation = None
            condition = policy.condition
            if condition is not None and not budget.is_exceeded and _is_settled(condition, shape):
                evaluation = _settle(policy, condition.evaluate(context, budget, _SETTLING_STEPS_MAX))
            if evaluation is None:
                left_open.append(position)
                evaluation = PolicyEvaluation(policy.id, policy.effect, EvaluationOutcome.DENY_IMPLICIT)
            settled.append(evaluation)
        return PolicySlice(tuple(settled), tuple(left_open))


def _is_settled(condition: CompiledExpression, shape: RequestShape) -> bool:
    """Whether a condition has one value for all requests of this shape, because it names a keyword that they do not
    have, or only what the activity type settles."""
    return not condition.keywords <= shape.keywords or condition.keywords <= _SETTLED_BY_TYPE


def _settle(policy: CompiledPolicy, condition: Value) -> PolicyEvaluation | None:
    """The evaluation of a policy whose condition has this value; None if it depends on the other clauses."""
    if isinstance(condition, NotApplicable):
        return PolicyEvaluation(policy.id, policy.effect, EvaluationOutcome.ERROR, Clause.CONDITION, str(condition))
    if condition is False:
        return PolicyEvaluation(policy.id, policy.effect, EvaluationOutcome.DENY_IMPLICIT, Clause.CONDITION)
    return None


def policy_set(
    policies: Iterable[Policy], expression_of: Callable[[ExpressionSource], CompiledExpression]
) -> PolicySet:
    """The set of these records, in this order. `expression_of` gives the expression of a source."""
    return PolicySet([_compile_policy(policy, expression_of) for policy in policies])


def _compile_policy(
    policy: Policy, expression_of: Callable[[ExpressionSource], CompiledExpression]
) -> CompiledPolicy:
    sources = sources_of(policy)

    def clause(source: ExpressionSource | None) -> CompiledExpression | None:
        return None if source is None else expression_of(source)

    return CompiledPolicy(
        id=policy.policy_id,
        effect=policy.effect,
        consensus=clause(sources.consensus),
        condition=clause(sources.condition),
        time=clause(sources.time),
    )
