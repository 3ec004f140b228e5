"""Trying a policy on recorded activities before it is saved: a query of our own, for editors.

Here: the outcome of the policy, and the decision with it among the organization's other policies. Not here: the
check of its expressions (`policy_checking`), the evaluation (`policies.evaluator`).
"""

from __future__ import annotations

import time
from functools import partial
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.enums import FINAL_STATUSES
from keystead.api.errors import NotFound
from keystead.api.identifiers import Uuid
from keystead.api.records import Wire
from keystead.operations.activities import activity_named, recorded_bytes
from keystead.operations.bounds import TRIED_BYTES_MAX, TRIED_SECONDS_MAX
from keystead.operations.declare import Reading, query
from keystead.operations.policies.policy_checking import CheckPolicyRequest, unsaved_policy
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.authorization import authorization_request
from keystead.policies.authorize import Decision, authorize
from keystead.policies.evaluator import PolicyEvaluator
from keystead.policies.language.expression import Expression
from keystead.policies.language.namespaces import CONTROLS
from keystead.policies.policy import CompiledPolicy, characters_of
from keystead.policies.policy import check_policy as check_expressions
from keystead.policies.policy_set import PolicySet, policy_set
from keystead.policies.request import AuthorizationRequest
from keystead.primitives.share import Work
from keystead.primitives.unreadable import Unreadable

TRIED_AT_ONCE: Final = 50
"""Most activities of one request."""


class TryPolicyRequest(CheckPolicyRequest, frozen=True, kw_only=True):
    """`policy_id`: the saved policy that the tried policy would replace; absent if it would be added."""

    activity_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=TRIED_AT_ONCE)]
    policy_id: Uuid | None = None


class TriedActivity(Wire, frozen=True):
    """`outcome`, `clause`, `reason`: of this policy, as `get_policy_evaluations` has them.

    `verdict`, `rule`: the decision with this policy among the others. `saved_verdict`, `saved_rule`: the decision
    with the policies that are saved.
    """

    activity_id: str
    outcome: str
    verdict: str
    rule: str
    saved_verdict: str
    saved_rule: str
    clause: str | None = None
    reason: str | None = None


class TryPolicyResponse(Wire, frozen=True):
    """In the order of the request. Activities beyond the limits on size and processor time are left out."""

    tried_activities: tuple[TriedActivity, ...]


class _PolicySets(msgspec.Struct, frozen=True):
    """`alone`: only the policy that is tried. `among_others`: the policy with the saved ones. `saved`: without
    it."""

    policy: CompiledPolicy
    alone: PolicySet
    among_others: PolicySet
    saved: PolicySet


@query(own=True)
async def try_policy(reading: Reading, request: TryPolicyRequest) -> TryPolicyResponse:
    """The outcome of a policy for recorded activities, and the decisions with this policy. Nothing is saved.

    All votes of an activity count. The records and the other policies are the current ones: an activity whose
    wallet was deleted has no `wallet` keyword. Raises InvalidRequest for expressions that cannot be read, NotFound
    for an activity or policy that is not there.
    """
    sets = await _policy_sets(reading, request)
    decided = partial(reading.environment.share.run, reading.organization.id, Work.DECISION)
    tried: list[TriedActivity] = []
    size, seconds = 0, 0.0
    for activity_id in dict.fromkeys(request.activity_ids):
        activity = await activity_named(reading, activity_id)
        size += recorded_bytes(activity)
        if tried and (size > TRIED_BYTES_MAX or seconds > TRIED_SECONDS_MAX):
            break
        trial_request = await authorization_request_for(reading, activity, sets.among_others)
        saved_request = await authorization_request_for(reading, activity, sets.saved)
        outcome, took_s = await decided(partial(_timed_trial, activity_id, trial_request, saved_request, sets))
        tried.append(outcome)
        seconds += took_s
    return TryPolicyResponse(tried_activities=tuple(tried))


async def _policy_sets(reading: Reading, request: TryPolicyRequest) -> _PolicySets:
    policy = unsaved_policy(reading, request)
    environment = reading.environment

    def compiled_alone() -> PolicySet:
        check_expressions(policy, reading.organization.velocity_controls.labels())
        return policy_set([policy], Expression)

    alone = await environment.share.run(
        reading.organization.id, Work.COMPILING, compiled_alone, 2 * characters_of(policy)
    )
    (compiled,) = alone.policies
    saved = (await environment.policy_sets.of(reading.organization)).policy_set
    if request.policy_id is None:
        return _PolicySets(compiled, alone, PolicySet((*saved.policies, compiled)), saved)
    if request.policy_id not in reading.organization.policies:
        raise NotFound(
            f"field `policyId`: unable to find policy {request.policy_id} in organization {reading.organization.id}"
        )
    replaced = [compiled if policy.id == request.policy_id else policy for policy in saved.policies]
    return _PolicySets(compiled, alone, PolicySet(replaced), saved)


async def authorization_request_for(
    reading: Reading, activity: RecordedActivity, policies: PolicySet | None = None
) -> AuthorizationRequest:
    """The request to authorize an activity: at this moment if it is open, otherwise at its last change.

    `policies`: the policies that decide, in place of the organization's.
    """
    basis = await reading.open_activities.basis_of(activity, reading.organization)
    if policies is not None:
        basis = replace(basis, policies=replace(basis.policies, policy_set=policies))
    request = authorization_request(basis)
    if activity.status not in FINAL_STATUSES:
        return request
    values, *others = (
        {**item, CONTROLS: _COUNTED_SINCE} if CONTROLS in item else item
        for item in (request.resources, *request.others)
    )
    return replace(request, now_ms=activity.updated_at_ms, resources=values, others=tuple(others))


_COUNTED_SINCE: Final = Unreadable("what was left when the activity was decided is not kept")


def _timed_trial(
    activity_id: str, request: AuthorizationRequest, saved_request: AuthorizationRequest, sets: _PolicySets
) -> tuple[TriedActivity, float]:
    """The result for one activity, and the processor time that it took, in seconds."""
    started = time.thread_time()
    return _trial(activity_id, request, saved_request, sets), time.thread_time() - started


def _trial(
    activity_id: str, request: AuthorizationRequest, saved_request: AuthorizationRequest, sets: _PolicySets
) -> TriedActivity:
    decision, saved = authorize(request, sets.among_others), authorize(saved_request, sets.saved)
    evaluation = next((made for made in decision.evaluations if made.policy_id == sets.policy.id), None)
    if evaluation is None:  # the root quorum decided: no policy was evaluated
        (evaluation,) = PolicyEvaluator(request, sets.alone).evaluations
    return TriedActivity(
        activity_id=activity_id,
        outcome=evaluation.outcome,
        clause=evaluation.clause,
        reason=evaluation.reason,
        verdict=_verdict_word(decision),
        rule=decision.rule.value,
        saved_verdict=_verdict_word(saved),
        saved_rule=saved.rule.value,
    )


def _verdict_word(decision: Decision) -> str:
    """`allow`, `needs consensus` or `deny`."""
    return decision.verdict.value.partition(":")[0]
