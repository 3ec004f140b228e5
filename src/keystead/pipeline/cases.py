"""The step that loads the context of an activity, and so makes it a case to authorize and execute.

Here: what is looked up for a new submission and for an activity on record. Not here: the look-ups (`operations`).
"""

from __future__ import annotations

from typing import Any

from keystead.api.errors import ServiceError
from keystead.api.parameters import Asked
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline import deciding
from keystead.pipeline.activity import Activity, ActivityOperation
from keystead.pipeline.deciding import Case
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import is_temporary
from keystead.pipeline.gathering import Gathering
from keystead.pipeline.requests import Submission, recorded_request


async def case_of_submission(
    submission: Submission, caller: Principal, organization: Organization, environment: Environment, now_ms: int
) -> Case:
    """A new submission with its context. Raises what its operation refuses before any policy is asked."""
    operation, intent = submission.operation, submission.version.upgrade(submission.intent)
    if operation.standing is not None:
        operation.standing(caller.user.user_id, intent)
    return Case(
        activity_type=submission.version.activity_type,
        operation=operation,
        intent=submission.intent,
        submitter_id=caller.user.user_id,
        identities=submission.identities,
        proofs=(deciding.proof_of(caller, submission, now_ms),),
        now_ms=now_ms,
        gathered=await _loaded(operation, intent, organization, environment),
    )


async def case_of_activity(activity: Activity, organization: Organization, environment: Environment) -> Case:
    """An activity on record with its context now. What refuses the look-up is `missing`.

    Raises ServiceError if another attempt at the look-up may succeed.
    """
    now_ms = environment.clock.now_ms()
    activity = deciding.at(activity, now_ms, environment.rules.approvals_last_ms)
    operation = operation_of(activity, environment)
    version = operation.version_of(activity.type)
    assert version is not None, activity.type
    _, intent = recorded_request(version, activity.request)
    context = missing = None
    try:
        context = await _loaded(operation, version.upgrade(intent), organization, environment)
    except ServiceError as refused:
        if is_temporary(refused):
            raise
        missing = refused
    return Case(
        activity_type=activity.type,
        operation=operation,
        intent=intent,
        submitter_id=activity.submitter_id,
        identities=activity.identities,
        proofs=deciding.counted_proofs(activity, organization),
        now_ms=now_ms,
        gathered=context,
        missing=missing,
    )


def operation_of(activity: Activity, environment: Environment) -> ActivityOperation:
    operation = environment.catalogue.of_type(activity.type)
    assert isinstance(operation, ActivityOperation), activity.type
    return operation


async def _loaded(
    operation: ActivityOperation, intent: Asked, organization: Organization, environment: Environment
) -> Any:
    if operation.gather is None:
        return None
    return await operation.gather(
        Gathering(organization, environment.store, environment.rules.transactions, environment.signing_cache),
        intent,
    )
