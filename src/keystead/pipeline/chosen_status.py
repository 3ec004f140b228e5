"""The status that a developer chooses for a new activity, to test how an application handles it.

Only a development server has such choices (`server.development.outcomes`). On every other server, only decisions
lead to a status.
"""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from keystead.api.enums import ActivityStatus
from keystead.api.records import Evaluation, Status
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.pipeline.environment import Environment
from keystead.pipeline.execute import execute
from keystead.pipeline.parent_users import check_chosen_waits_for_nobody, check_no_mfa_is_avoided
from keystead.pipeline.states import chosen_by_developer
from keystead.pipeline.store import Commit


async def commit_in_chosen_status(
    chosen: ActivityStatus,
    activity: RecordedActivity,
    basis: DecisionBasis,
    evaluation: Evaluation,
    environment: Environment,
) -> Commit:
    """The commit of a new activity in this status, whatever the policies and the submitter's MFA policies ask for.
    It is executed only if the status is COMPLETED; in another status, an approval may still do that.

    Raises ServiceError if the execution is refused, and for what a user of the parent may not do.
    """
    if basis.authorized_by is not None:
        check_chosen_waits_for_nobody(chosen, basis)
    if chosen is ActivityStatus.COMPLETED:
        check = None
        if basis.authorized_by is not None:
            check = partial(check_no_mfa_is_avoided, basis, environment)
        return await execute(activity, basis, evaluation, environment, new_votes=activity.votes, check=check)
    failure = None
    if chosen is ActivityStatus.FAILED:
        failure = Status(code=13, message="a developer chose that this activity fails")
    activity = replace(activity, status=chosen_by_developer(activity.status, chosen), failure=failure)
    return Commit(
        organization_id=activity.organization_id,
        decided_on=basis.organization.version,
        authorized_by=basis.authorized_by,
        activity=activity,
        new_votes=activity.votes,
        evaluations=(evaluation,),
    )
