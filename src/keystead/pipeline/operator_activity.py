"""What to commit for an activity of the operator: no user submits it, nobody votes on it, and no policy decides it.

It is executed and committed like any other activity, with an evaluation and webhook events of its own. Not here:
who may call this (`server.recovery`), the write (`store`).
"""

from __future__ import annotations

from typing import Final

from keystead.api.enums import ActivityStatus
from keystead.api.records import Evaluation, Timestamp
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.basis import Basis
from keystead.pipeline.commit import PlannedCommit, commit_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import execute
from keystead.pipeline.load_context import case_of_activity
from keystead.pipeline.requests import Submission
from keystead.pipeline.states import Event
from keystead.pipeline.webhook_events import with_events
from keystead.policies.authorize import Verdict

OPERATOR_RULE: Final = "the operator of this server asks for it"
"""The rule in the evaluation of such an activity."""


async def plan_of_operator(
    submission: Submission, organization: Organization, parent: Organization | None, environment: Environment
) -> PlannedCommit:
    """What to commit for this request of the operator, on this version of the organization.

    `parent`: the organization's parent; its webhook endpoints get the event too. Raises ServiceError if the
    execution is refused.
    """
    now_ms = environment.clock.now_ms()
    activity = RecordedActivity(
        id=environment.new_id(),
        organization_id=organization.id,
        type=submission.version.activity_type,
        status=ActivityStatus.CREATED,
        fingerprint=submission.fingerprint,
        request=submission.request,
        result={},
        votes=(),
        app_proofs=(),
        failure=None,
        submitter_id="",
        proofs=(),
        approvals_since_ms=now_ms,
        revision=0,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )
    evaluation = Evaluation(
        id=environment.new_id(),
        activity_id=activity.id,
        organization_id=organization.id,
        vote_id="",
        policy_evaluations=(),
        created_at=Timestamp.from_ms(now_ms),
        verdict=Verdict.ALLOW.value,
        rule=OPERATOR_RULE,
        policy_ids=(),
    )
    case = await case_of_activity(activity, organization, environment, now_ms)
    basis = Basis(organization=organization, authority=organization, authorized_by=None, now_ms=now_ms)
    executed = await execute(Event.EXECUTED, activity, case, basis, evaluation, environment)
    planned = await commit_of(activity, executed, case, basis, evaluation, environment, new_votes=())
    return with_events(planned, None, organization, parent, environment, now_ms)
