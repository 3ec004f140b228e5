"""What to commit for a new submission: load context, authorize, execute, build the commit.

Not here: the queue and the write (`lifecycle`), the steps themselves.
"""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.errors import PermissionDenied
from keystead.api.records import User
from keystead.organizations.organization import Put
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.authorization import AuthorizationResult, authorize_activity, lacks_mfa_proofs
from keystead.pipeline.basis import Basis
from keystead.pipeline.case import Case, vote_of
from keystead.pipeline.chosen_status import plan_in_chosen_status
from keystead.pipeline.commit import PlannedCommit, commit_of, commit_of_refusal
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import ExecutionResult, execute
from keystead.pipeline.load_context import case_of_submission
from keystead.pipeline.requests import Submission
from keystead.pipeline.states import Event
from keystead.policies.denial import denied


async def plan_submission(
    submission: Submission, caller: Principal, basis: Basis, environment: Environment
) -> PlannedCommit:
    """What to commit for a new submission.

    For a denied submission, only its evaluation is committed. Raises ServiceError for a refusal with nothing to
    commit.
    """
    case = await case_of_submission(submission, caller, basis, environment)
    settings = environment.settings.authorization
    activity = _new_activity(submission, caller, case, environment)
    authorized = await environment.long_work.decide(
        basis.authority.id, partial(authorize_activity, case, basis.authority, settings)
    )
    evaluation = authorized.evaluation(environment.new_id(), activity, activity.votes[0], basis.now_ms)
    if environment.chosen_status and (chosen := environment.chosen_status(activity.type, activity.fingerprint)):
        return await plan_in_chosen_status(chosen, activity, case, basis, evaluation, environment)
    if authorized.decision.is_denial:
        refusal = denied(authorized.decision, activity.type, activity.id)
        return commit_of_refusal(refusal, activity, evaluation, basis)
    if basis.authorized_by is not None:
        _check_waits_for_nobody(authorized, case)
    executed = await execute(authorized.event, activity, case, basis, environment)
    if basis.authorized_by is not None:
        await _check_no_mfa_is_avoided(executed, case, basis, environment)
    return await commit_of(activity, executed, case, basis, evaluation, environment)


def _new_activity(
    submission: Submission, caller: Principal, case: Case, environment: Environment
) -> RecordedActivity:
    """The activity before its first status. The submitter's stamp is the first approval."""
    activity_id = environment.new_id()
    vote = vote_of(
        VoteSelection.APPROVED, activity_id, submission, caller, environment.new_id(), case.submitted_at_ms
    )
    return RecordedActivity(
        id=activity_id,
        organization_id=submission.organization_id,
        type=case.version.activity_type,
        status=ActivityStatus.CREATED,
        fingerprint=submission.fingerprint,
        request=submission.request,
        result={},
        votes=(vote,),
        app_proofs=(),
        failure=None,
        submitter_id=case.submitter_id,
        proofs=case.proofs,
        approvals_since_ms=case.submitted_at_ms,
        revision=0,
        created_at_ms=case.submitted_at_ms,
        updated_at_ms=case.submitted_at_ms,
    )


def _check_waits_for_nobody(authorized: AuthorizationResult, case: Case) -> None:
    """Raise PermissionDenied unless the activity of a user of the parent is executed at once."""
    if authorized.event is not Event.EXECUTED:
        raise PermissionDenied(
            f"{case.version.activity_type} by a user of the parent organization cannot wait for approvals or "
            "proofs; write a policy of the parent that allows it with this user's approval alone"
        )


async def _check_no_mfa_is_avoided(
    executed: ExecutionResult, case: Case, basis: Basis, environment: Environment
) -> None:
    """Raise PermissionDenied if the execution changes a user with an MFA policy that applies to this activity.

    The parent's user cannot give that user's proofs, so a session from this activity would bypass the MFA policy.
    """
    if executed.output is None:
        return
    organization = basis.organization
    changed = [change.record for change in executed.output.changes if isinstance(change, Put)]
    users = [organization.users[record.user_id] for record in changed if isinstance(record, User)]
    case = replace(case, proofs=(), policies=await environment.policy_sets.of(organization, users))
    for user in users:
        if lacks_mfa_proofs(case, organization, user.user_id):
            raise PermissionDenied(
                f"an MFA policy of user {user.user_id} applies to {case.version.activity_type}, and only that user "
                "can prove what it asks for: log in with stamp_login"
            )
