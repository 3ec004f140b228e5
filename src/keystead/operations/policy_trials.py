"""Trying a policy on recorded activities before it is saved: a query of ours, for editors.

Not here: the check of its expressions (`policy_checking`), the evaluation (`policies.evaluator`).
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.errors import NotFound
from keystead.api.identifiers import Uuid
from keystead.api.records import PolicyOutcome, Wire
from keystead.operations.activities import recorded_bytes
from keystead.operations.declare import Reading, query
from keystead.operations.policy_checking import CheckPolicyRequest, unsaved_policy
from keystead.pipeline.activity import Activity
from keystead.pipeline.authorization import authorization_request
from keystead.policies.evaluator import PolicyEvaluator
from keystead.policies.expression import Expression
from keystead.policies.policy import check_policy as check_expressions
from keystead.policies.policy_set import PolicySet, policy_set

TRIED_AT_ONCE: Final = 50
"""Most activities of one request."""

TRIED_BYTES_MAX: Final = 1_048_576
"""Activities beyond this many bytes of requests, votes and results are left out of the answer."""


class TryPolicyRequest(CheckPolicyRequest, frozen=True, kw_only=True):
    activity_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=TRIED_AT_ONCE)]


class TriedActivity(Wire, frozen=True):
    """`outcome`, `clause`, `reason`: as `get_policy_evaluations` has them of a policy."""

    activity_id: str
    outcome: str
    clause: str | None = None
    reason: str | None = None


class TryPolicyResponse(Wire, frozen=True):
    """In the order of the request, without those that would cost too much."""

    tried_activities: tuple[TriedActivity, ...]


@query()
async def try_policy(reading: Reading, request: TryPolicyRequest) -> TryPolicyResponse:
    """What a policy would have said of recorded activities, with their votes. Nothing is saved.

    Records are those of today: an activity whose wallet is gone has no keywords of it. Raises InvalidRequest for
    expressions that cannot be read, NotFound for an activity that is not there.
    """
    policy = unsaved_policy(reading, request)
    check_expressions(policy)
    policies = policy_set([policy], Expression)
    tried: list[TriedActivity] = []
    size = 0
    for activity_id in dict.fromkeys(request.activity_ids):
        activity = await reading.store.activity(reading.organization.id, activity_id)
        if activity is None:
            raise NotFound(f"unable to find activity {activity_id} in organization {reading.organization.id}")
        size += recorded_bytes(activity)
        if tried and size > TRIED_BYTES_MAX:
            break
        outcome = await _outcome(reading, activity, policies)
        tried.append(
            TriedActivity(
                activity_id=activity_id, outcome=outcome.outcome, clause=outcome.clause, reason=outcome.reason
            )
        )
        await asyncio.sleep(0)  # reading transactions and evaluating takes time: other requests run in between
    return TryPolicyResponse(tried_activities=tuple(tried))


async def _outcome(reading: Reading, activity: Activity, policies: PolicySet) -> PolicyOutcome:
    """The one policy's evaluation, at the time of the activity's last change."""
    open_activities, organization = reading.open_activities, reading.organization
    case = await open_activities.case_of(activity, organization)
    settings = open_activities.environment.rules.authorization
    request = replace(authorization_request(case, organization, settings), now_ms=activity.updated_at_ms)
    (found,) = PolicyEvaluator(request, policies).evaluations
    return PolicyOutcome(policy_id=found.policy_id, outcome=found.outcome, clause=found.clause, reason=found.reason)
