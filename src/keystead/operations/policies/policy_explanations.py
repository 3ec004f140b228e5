"""Why a policy allowed, denied or ignored an activity, part by part: a query of our own, for pages and tools.

Not here: the parts of one expression (`policies.explanation`), the outcomes on record (`activities`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, assert_never

from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest
from keystead.api.records import Timestamp, Wire
from keystead.operations.activities import activity_named
from keystead.operations.declare import Reading, query
from keystead.operations.policies.policy_trials import authorization_request_for
from keystead.organizations.kinds.policies import Policies
from keystead.policies.explanation import Part, explain
from keystead.policies.language.evaluation_context import NotApplicable, Unknown
from keystead.policies.language.namespaces import Clause
from keystead.policies.policy import sources_of
from keystead.policies.request import AuthorizationRequest, condition_values, consensus_values, time_values
from keystead.primitives.share import Work


class ExplainPolicyRequest(QueryRequest, frozen=True):
    activity_id: Uuid
    policy_id: Uuid


class ExplainedValue(Wire, frozen=True):
    """A value that a part read. `path`: the name of the value, as the expression writes it."""

    path: str
    value: str


class ExplainedPart(Wire, frozen=True):
    """A part of a clause. The operands of a part follow it, with a `depth` that is one more. The whole clause has
    the depth 0.

    `operator`: `&&`, `||` or `!` if operands of the part follow, else "". `value`: `true`, `false`, `unknown` or
    `not applicable`. `reason`: what is unknown, and why; or the keyword that the activity does not have. `values`:
    what a part without operands compares.
    """

    depth: int
    text: str
    operator: str
    value: str
    values: tuple[ExplainedValue, ...]
    reason: str | None = None


class ExplainedClause(Wire, frozen=True):
    """`item`: the number of the item that the condition is evaluated for, from 1 on, if the activity is a batch,
    such as the export of several secrets; otherwise None."""

    clause: str
    parts: tuple[ExplainedPart, ...]
    item: int | None = None


class ExplainPolicyResponse(Wire, frozen=True):
    """The clauses that the policy has. A batch has the condition once for each item. `at`: the moment for which the
    clauses are evaluated."""

    explained_clauses: tuple[ExplainedClause, ...]
    at: Timestamp


@query(own=True)
async def explain_policy(reading: Reading, request: ExplainPolicyRequest) -> ExplainPolicyResponse:
    """The value of each part of a policy's clauses for a recorded activity, with the votes that count.

    The policy and the records are the current ones. An open activity is evaluated for now, a final one for the
    moment of its last change. Raises NotFound.
    """
    organization = reading.organization
    activity = await activity_named(reading, request.activity_id)
    policy = organization.record(Policies, request.policy_id)
    authorization = await authorization_request_for(reading, activity)
    share = reading.environment.share
    explained = []
    for source in sources_of(policy).given:
        items = authorization.items() if source.clause is Clause.CONDITION else [authorization]
        for number, item in enumerate(items, 1):
            explained_parts = partial(explain, source, _values(source.clause, item))
            parts = await share.run(organization.id, Work.EXPLANATION, explained_parts)
            clause = ExplainedClause(
                clause=source.clause,
                parts=tuple(map(_explained_part, parts)),
                item=number if len(items) > 1 else None,
            )
            explained.append(clause)
    return ExplainPolicyResponse(explained_clauses=tuple(explained), at=Timestamp.from_ms(authorization.now_ms))


def _values(clause: Clause, request: AuthorizationRequest) -> Mapping[str, Any]:
    match clause:
        case Clause.CONDITION:
            return condition_values(request.activity, request.resources)
        case Clause.CONSENSUS:
            return consensus_values(request.users, request.approvals)
        case Clause.TIME:
            return time_values(request.now_ms)
        case unknown:
            assert_never(unknown)


def _explained_part(part: Part) -> ExplainedPart:
    value, reason = part.value, None
    match value:
        case bool():
            result = "true" if value else "false"
        case Unknown():
            result, reason = "unknown", value.reason
        case NotApplicable():
            result, reason = "not applicable", value.reason
        case unknown:
            assert_never(unknown)
    return ExplainedPart(
        depth=part.depth,
        text=part.text,
        operator=part.operator,
        value=result,
        reason=reason,
        values=tuple(ExplainedValue(path=value.path, value=value.value) for value in part.values),
    )
