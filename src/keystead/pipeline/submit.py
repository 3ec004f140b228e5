"""What to commit for a new submission: authorize, execute, build the commit.

Not here: the queue and the write (`organization_writer`), the steps themselves.
"""

from __future__ import annotations

from functools import partial

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.authorization import authorize_activity, evaluation_of, event_of
from keystead.pipeline.chosen_status import commit_in_chosen_status
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.pipeline.environment import Environment
from keystead.pipeline.execute import commit_of, commit_of_refusal, execute
from keystead.pipeline.parent_users import (
    check_no_mfa_is_avoided,
    check_user_is_proven,
    check_waits_for_nobody,
)
from keystead.pipeline.proofs import vote_of
from keystead.pipeline.states import Event
from keystead.pipeline.store import Commit
from keystead.pipeline.submission import Submission
from keystead.policies.denial import denied
from keystead.primitives.share import Work


async def decide_submission(
    submission: Submission, caller: Principal, basis: DecisionBasis, environment: Environment
) -> Commit:
    """What to commit for a new submission.

    For a denied submission, only its evaluation is committed. Raises ServiceError for a refusal with nothing to
    commit.
    """
    is_by_parent = basis.authorized_by is not None
    if is_by_parent:
        check_user_is_proven(basis)
    activity = _new_activity(submission, caller, basis, environment)
    decision = await environment.share.run(basis.authority.id, Work.DECISION, partial(authorize_activity, basis))
    event = event_of(decision, basis.submitter_id)
    (vote,), now_ms = activity.votes, basis.now_ms
    evaluation = evaluation_of(decision, event, environment.new_id(), activity, vote, now_ms)
    if environment.chosen_status and (chosen := environment.chosen_status(activity.type, activity.fingerprint)):
        return await commit_in_chosen_status(chosen, activity, basis, evaluation, environment)
    if decision.is_denial:
        refusal = denied(decision, activity.type, activity.id)
        return commit_of_refusal(refusal, activity, basis, evaluation)
    check = None
    if is_by_parent:
        check_waits_for_nobody(event, basis)
        check = partial(check_no_mfa_is_avoided, basis, environment)
    if event is not Event.EXECUTED:
        return commit_of(activity, event, basis, evaluation, new_votes=activity.votes)
    return await execute(activity, basis, evaluation, environment, new_votes=activity.votes, check=check)


def _new_activity(
    submission: Submission, caller: Principal, basis: DecisionBasis, environment: Environment
) -> RecordedActivity:
    """The activity before its first status. The submitter's stamp is the first approval."""
    activity_id = environment.new_id()
    vote = vote_of(VoteSelection.APPROVED, activity_id, submission, caller, environment.new_id(), basis.now_ms)
    return RecordedActivity(
        id=activity_id,
        organization_id=submission.organization_id,
        type=basis.version.activity_type,
        status=ActivityStatus.CREATED,
        fingerprint=submission.body.fingerprint,
        request=submission.body.request,
        result={},
        votes=(vote,),
        app_proofs=(),
        failure=None,
        submitter_id=basis.submitter_id,
        proofs=basis.proofs,
        approvals_since_ms=basis.now_ms,
        revision=0,
        created_at_ms=basis.now_ms,
        updated_at_ms=basis.now_ms,
    )
