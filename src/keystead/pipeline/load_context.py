"""The step that loads the context of an activity. Its result is the `Case` that is authorized and executed.

Here: the cases of a new submission and of an activity on record. Not here: what operations look up
(`operations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keystead.api.errors import PermissionDenied, ServiceError
from keystead.api.parameters import RequestStruct
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.basis import Basis
from keystead.pipeline.case import Case, owner_of
from keystead.pipeline.context import ContextSource
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import is_temporary
from keystead.pipeline.operation import ActivityOperation
from keystead.pipeline.proofs import counted_proofs, proof_of
from keystead.pipeline.requests import Submission, recorded_request
from keystead.policies.expression import CompiledExpression


async def case_of_submission(
    submission: Submission, caller: Principal, basis: Basis, environment: Environment
) -> Case:
    """The case of a new submission.

    Raises the error of the operation's precondition or of its look-up.
    """
    operation, intent = submission.operation, submission.version.upgrade(submission.intent)
    if operation.precondition is not None:
        operation.precondition(caller.user.user_id, intent)
    scope = await scope_of(caller, basis.authority, environment)
    context = await _load_context(operation, intent, basis.organization, caller.user.user_id, environment)
    proof = proof_of(caller, submission, basis.authority, basis.now_ms)
    return Case(
        operation=operation,
        version=submission.version,
        intent=intent,
        policies=await environment.policy_sets.of(basis.authority, (caller.user,)),
        submitter_id=caller.user.user_id,
        owner_id=owner_of(operation, intent, caller.user.user_id),
        scope=scope,
        submission=proof,
        proofs=(proof,),
        now_ms=basis.now_ms,
        refuses_raw_payloads=environment.settings.authorization.refuse_raw_payloads,
        context=context,
    )


async def case_of_activity(
    activity: RecordedActivity,
    organization: Organization,
    environment: Environment,
    now_ms: int,
    user_ids: Sequence[str] = (),
) -> Case:
    """The case of an activity on record at the time `now_ms`, with its context as it is now. If the look-up is
    refused, the error is `missing`. The MFA conditions are those of the submitter, of all users who approve, and of
    `user_ids`.

    Raises ServiceError if the look-up failed for a temporary reason.
    """
    operation = operation_of(activity, environment)
    version = operation.version_of(activity.type)
    assert version is not None, activity.type
    _, submitted = recorded_request(version, activity.request)
    intent = version.upgrade(submitted)
    proofs = counted_proofs(activity, organization)
    voters = dict.fromkeys([activity.submitter_id, *[proof.user_id for proof in proofs], *user_ids])
    users = [organization.users[user_id] for user_id in voters if user_id in organization.users]
    context = missing = None
    try:
        context = await _load_context(operation, intent, organization, activity.submitter_id, environment)
    except ServiceError as refused:
        if is_temporary(refused):
            raise
        missing = refused
    return Case(
        operation=operation,
        version=version,
        intent=intent,
        policies=await environment.policy_sets.of(organization, users),
        submitter_id=activity.submitter_id,
        owner_id=owner_of(operation, intent, activity.submitter_id),
        submission=activity.submission,
        proofs=proofs,
        now_ms=now_ms,
        refuses_raw_payloads=environment.settings.authorization.refuse_raw_payloads,
        context=context,
        missing=missing,
    )


async def scope_of(
    caller: Principal, organization: Organization, environment: Environment
) -> CompiledExpression | None:
    """The scope of the session that stamped the caller's request; None if no session profile limits it.

    The profile belongs to the organization or to its parent. Raises PermissionDenied if neither has it.
    """
    profile_id = caller.session_profile_id
    if not profile_id:
        return None
    holder: Organization | None = organization
    if profile_id not in organization.session_profiles and organization.profile.parent_id is not None:
        holder = await environment.store.organization(organization.profile.parent_id)
    if holder is None or profile_id not in holder.session_profiles:
        raise PermissionDenied(f"the session profile {profile_id} of this session no longer exists; log in again")
    return await environment.policy_sets.scope(holder, holder.session_profiles[profile_id].scope)


def operation_of(activity: RecordedActivity, environment: Environment) -> ActivityOperation:
    """The operation of an activity on record."""
    operation = environment.catalogue.of_type(activity.type)
    assert isinstance(operation, ActivityOperation), activity.type
    return operation


async def _load_context(
    operation: ActivityOperation,
    intent: RequestStruct,
    organization: Organization,
    submitter_id: str,
    environment: Environment,
) -> Any:
    if operation.load_context is None:
        return None
    source = ContextSource(
        organization=organization,
        submitter_id=submitter_id,
        store=environment.store,
        transactions=environment.settings.transactions,
        cache=environment.signing_cache,
        long_work=environment.long_work,
    )
    return await operation.load_context(source, intent)
