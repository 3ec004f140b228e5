"""Votes: approving and rejecting an activity that waits.

This module also has the queries for the decisions on an activity and for the proofs of its voters. The two
functions of votes are declarations that never run: `pipeline.vote` decides a vote.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta

from keystead.api.enums import VoteSelection
from keystead.api.errors import NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct
from keystead.api.records import Evaluation, MfaStatus, Wire
from keystead.operations.activities import activity_named
from keystead.operations.declare import Reading, query, vote
from keystead.pipeline.execution import Execution, Output
from keystead.pipeline.mfa import MfaStatuses
from keystead.primitives.share import Work

Fingerprint = Annotated[str, Meta(min_length=1, max_length=255)]


class ApproveActivityIntent(RequestStruct, frozen=True):
    """`fingerprint`: of the activity to approve, "sha256:" and the hex digest of its request."""

    fingerprint: Fingerprint


class ApproveActivityResult(Wire, frozen=True):
    """Has no members. The answer to a vote is the activity that was voted on."""


@vote("ACTIVITY_TYPE_APPROVE_ACTIVITY", VoteSelection.APPROVED, before_session=True)
def approve_activity(_: Execution, __: ApproveActivityIntent) -> Output[ApproveActivityResult]:
    """Approve an activity that waits for consensus or for further proofs. The answer is that activity."""
    raise AssertionError("pipeline.vote decides votes; this function never runs")


class RejectActivityIntent(RequestStruct, frozen=True):
    fingerprint: Fingerprint


class RejectActivityResult(Wire, frozen=True):
    """Has no members. The answer to a vote is the activity that was voted on."""


@vote("ACTIVITY_TYPE_REJECT_ACTIVITY", VoteSelection.REJECTED)
def reject_activity(_: Execution, __: RejectActivityIntent) -> Output[RejectActivityResult]:
    """Reject an activity that waits. One rejection is final. The answer is that activity."""
    raise AssertionError("pipeline.vote decides votes; this function never runs")


class GetPolicyEvaluationsRequest(QueryRequest, frozen=True):
    activity_id: Uuid


class GetPolicyEvaluationsResponse(Wire, frozen=True):
    policy_evaluations: tuple[Evaluation, ...]


@query()
async def get_policy_evaluations(
    reading: Reading, request: GetPolicyEvaluationsRequest
) -> GetPolicyEvaluationsResponse:
    """The decisions on an activity, one for each vote. A denied submission has a decision too."""
    evaluations = await reading.store.activities.evaluations(reading.organization.id, request.activity_id)
    if not evaluations:
        raise NotFound(
            f"unable to find policy evaluations of activity {request.activity_id} in organization "
            f"{reading.organization.id}"
        )
    return GetPolicyEvaluationsResponse(policy_evaluations=tuple(evaluations))


class GetMfaStatusRequest(QueryRequest, frozen=True):
    """Without `user_id`, the answer is about every user who has voted."""

    activity_id: Uuid
    user_id: Uuid | None = None


class GetMfaStatusResponse(Wire, frozen=True):
    mfa_statuses: tuple[MfaStatus, ...]


@query(before_session=True)
async def get_mfa_status(reading: Reading, request: GetMfaStatusRequest) -> GetMfaStatusResponse:
    """Which proofs an activity's voters have given, and which their MFA policies ask for."""
    organization = reading.organization
    voted_on = await activity_named(reading, request.activity_id)
    user_ids = () if request.user_id is None else (request.user_id,)
    basis = await reading.open_activities.basis_of(voted_on, organization, user_ids)
    statuses = MfaStatuses(basis, user_ids)
    user_id = request.user_id
    found = await reading.environment.share.run(
        organization.id, Work.DECISION, statuses.of_voters if user_id is None else partial(statuses.of, user_id)
    )
    return GetMfaStatusResponse(mfa_statuses=tuple(found))
