"""The status that a developer chooses for a new activity, to test how an application handles it.

Only a development server has such choices (`server.development.outcomes`). On every other server, only decisions
lead to a status.
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.enums import ActivityStatus
from keystead.api.records import Evaluation, Status
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.basis import Basis
from keystead.pipeline.case import Case
from keystead.pipeline.commit import PlannedCommit, commit_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import execute
from keystead.pipeline.parent_users import check_chosen_waits_for_nobody, check_rules_of_users
from keystead.pipeline.states import Event, chosen_by_developer
from keystead.pipeline.store import Commit


async def plan_in_chosen_status(
    chosen: ActivityStatus,
    activity: RecordedActivity,
    case: Case,
    basis: Basis,
    evaluation: Evaluation,
    environment: Environment,
) -> PlannedCommit:
    """The commit of a new activity in this status, whatever the policies and the submitter's MFA policies ask for.
    It is executed only if the status is COMPLETED; in another status, an approval may still do that.

    Raises ServiceError if the execution is refused, and for what a user of the parent may not do.
    """
    if basis.authorized_by is not None:
        check_chosen_waits_for_nobody(chosen, case)
    if chosen is ActivityStatus.COMPLETED:
        executed = await execute(Event.EXECUTED, activity, case, basis, evaluation, environment)
        if basis.authorized_by is not None:
            await check_rules_of_users(executed, case, basis, environment)
        return await commit_of(activity, executed, case, basis, evaluation, environment, new_votes=activity.votes)
    failure = None
    if chosen is ActivityStatus.FAILED:
        failure = Status(code=13, message="a developer chose that this activity fails")
    activity = replace(activity, status=chosen_by_developer(activity.status, chosen), failure=failure)
    commit = Commit(
        organization_id=activity.organization_id,
        decided_on=basis.organization.version,
        authorized_by=basis.authorized_by,
        activity=activity,
        new_votes=activity.votes,
        evaluations=(evaluation,),
    )
    return PlannedCommit(commit, activity)
