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
from keystead.pipeline.decision_basis import basis_of_activity
from keystead.pipeline.environment import Environment
from keystead.pipeline.execute import execute
from keystead.pipeline.store import Commit
from keystead.pipeline.submission import SubmissionBody
from keystead.pipeline.webhook_events import with_event
from keystead.policies.authorize import Verdict

OPERATOR_RULE: Final = "the operator of this server asks for it"
"""The rule in the evaluation of such an activity."""


async def commit_of_operator(
    body: SubmissionBody, organization: Organization, parent: Organization | None, environment: Environment
) -> Commit:
    """What to commit for this request of the operator, on this version of the organization.

    `parent`: the organization's parent; its webhook endpoints get the event too. Raises ServiceError if the
    execution is refused.
    """
    now_ms = environment.clock.now_ms()
    activity = RecordedActivity(
        id=environment.new_id(),
        organization_id=organization.id,
        type=body.version.activity_type,
        status=ActivityStatus.CREATED,
        fingerprint=body.fingerprint,
        request=body.request,
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
    basis = await basis_of_activity(activity, organization, environment, now_ms)
    commit = await execute(activity, basis, evaluation, environment, new_votes=())
    assert commit.activity is not None
    return with_event(commit, commit.activity, None, (organization, parent), environment, now_ms)
