"""Which policies are active now, by their time windows.

Not here: the policies themselves (`policies`), and what a window means (`keystead.policies.time`).
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.parameters import QueryRequest
from keystead.api.records import Policy, Wire
from keystead.operations.declare import Reading, query
from keystead.policies.expression import compile_expression
from keystead.policies.namespaces import Clause
from keystead.policies.syntax import ExpressionRefused


class ActivePolicyStatus(Wire, frozen=True):
    """`time_expr` and `error` are absent where a policy has no time window, and where it could be evaluated."""

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
def get_active_policies(reading: Reading, _: GetActivePoliciesRequest) -> GetActivePoliciesResponse:
    """Which policies of the organization are active now. One without a time window always is."""
    now_ms = reading.now_ms
    return GetActivePoliciesResponse(
        statuses=tuple(
            _status(reading.organization.id, policy, now_ms) for policy in reading.organization.policies.in_order()
        ),
        evaluated_at_ms=str(now_ms),
    )


def _status(organization_id: str, policy: Policy, now_ms: int) -> ActivePolicyStatus:
    status = ActivePolicyStatus(organization_id=organization_id, policy_id=policy.policy_id, active=True)
    if not policy.time:
        return status
    try:
        value = compile_expression(policy.time, Clause.TIME).evaluate({"time": {"now": now_ms * 1_000_000}})
    except ExpressionRefused as refused:  # a later version checks more, or a time zone is not on this host
        return replace(status, active=False, time_expr=policy.time, error=str(refused))
    error = None if isinstance(value, bool) else str(value)
    return replace(status, active=value is True, time_expr=policy.time, error=error)
