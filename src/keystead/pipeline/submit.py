"""What to commit for a new submission: load context, authorize, execute, build the commit.

Not here: the queue and the write (`lifecycle`), the steps themselves.
"""

from __future__ import annotations

from functools import partial

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.authorization import authorize_activity
from keystead.pipeline.basis import Basis
from keystead.pipeline.case import Case
from keystead.pipeline.chosen_status import plan_in_chosen_status
from keystead.pipeline.commit import PlannedCommit, commit_of, commit_of_refusal
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import execute
from keystead.pipeline.load_context import case_of_submission
from keystead.pipeline.parent_users import (
    check_no_mfa_is_avoided,
    check_user_is_proven,
    check_waits_for_nobody,
)
from keystead.pipeline.proofs import vote_of
from keystead.pipeline.requests import Submission
from keystead.policies.denial import denied


async def plan_submission(
    submission: Submission, caller: Principal, basis: Basis, environment: Environment
) -> PlannedCommit:
    """What to commit for a new submission.

    For a denied submission, only its evaluation is committed. Raises ServiceError for a refusal with nothing to
    commit.
    """
    case = await case_of_submission(submission, caller, basis, environment)
    if basis.authorized_by is not None:
        check_user_is_proven(case, basis.organization)
    settings = environment.settings.authorization
    activity = _new_activity(submission, caller, case, environment)
    authorized = await environment.long_work.run_decision(
        basis.authority.id, partial(authorize_activity, case, basis.authority, settings)
    )
    evaluation = authorized.evaluation(environment.new_id(), activity, activity.votes[0], basis.now_ms)
    if environment.chosen_status and (chosen := environment.chosen_status(activity.type, activity.fingerprint)):
        return await plan_in_chosen_status(chosen, activity, case, basis, evaluation, environment)
    if authorized.decision.is_denial:
        refusal = denied(authorized.decision, activity.type, activity.id)
        return commit_of_refusal(refusal, activity, evaluation, basis)
    if basis.authorized_by is not None:
        check_waits_for_nobody(authorized, case)
    executed = await execute(authorized.event, activity, case, basis, evaluation, environment)
    if basis.authorized_by is not None:
        await check_no_mfa_is_avoided(executed, case, basis, environment)
    return await commit_of(activity, executed, case, basis, evaluation, environment, new_votes=activity.votes)


def _new_activity(
    submission: Submission, caller: Principal, case: Case, environment: Environment
) -> RecordedActivity:
    """The activity before its first status. The submitter's stamp is the first approval."""
    activity_id = environment.new_id()
    vote = vote_of(VoteSelection.APPROVED, activity_id, submission, caller, environment.new_id(), case.now_ms)
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
        approvals_since_ms=case.now_ms,
        revision=0,
        created_at_ms=case.now_ms,
        updated_at_ms=case.now_ms,
    )
