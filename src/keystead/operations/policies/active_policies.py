"""Which policies are active now, by their time windows.

Not here: the policies themselves (`policies`), and what a window means (`keystead.policies.language.time`).
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.parameters import QueryRequest
from keystead.api.records import Wire
from keystead.operations.declare import Reading, query
from keystead.policies.bounds import EXPRESSION_STEPS_MAX
from keystead.policies.language.evaluation_context import Budget, EvaluationContext
from keystead.policies.policy import CompiledPolicy
from keystead.policies.request import time_values


class ActivePolicyStatus(Wire, frozen=True):
    """`time_expr` is absent if the policy has no time window, `error` if there was no error in evaluating it."""

    organization_id: str
    policy_id: str
    active: bool
    time_expr: str | None = None
    error: str | None = None


class GetActivePoliciesRequest(QueryRequest, frozen=True):
    pass


class GetActivePoliciesResponse(Wire, frozen=True):
    """`evaluated_at_ms`: the server's clock, milliseconds since the epoch as decimal text."""

    statuses: tuple[ActivePolicyStatus, ...]
    evaluated_at_ms: str


@query()
async def get_active_policies(reading: Reading, _: GetActivePoliciesRequest) -> GetActivePoliciesResponse:
    """Which policies of the organization are active now. A policy without a time window is active."""
    now_ms = reading.now_ms
    compiled = await reading.environment.policy_sets.of(reading.organization)
    moment = EvaluationContext(time_values(now_ms))
    return GetActivePoliciesResponse(
        statuses=tuple(
            [_status(reading.organization.id, policy, moment) for policy in compiled.policy_set.policies]
        ),
        evaluated_at_ms=str(now_ms),
    )


def _status(organization_id: str, policy: CompiledPolicy, moment: EvaluationContext) -> ActivePolicyStatus:
    status = ActivePolicyStatus(organization_id=organization_id, policy_id=policy.id, active=True)
    if policy.time is None:
        return status
    value = policy.time.evaluate(moment, Budget(EXPRESSION_STEPS_MAX))
    error = None if isinstance(value, bool) else str(value)
    return replace(status, active=value is True, time_expr=policy.time.source.text, error=error)
