"""A new submission: load context, authorize, execute; and what is to be committed for it.

Not here: its place in the queue and the commit itself (`lifecycle`), the steps.
"""

from __future__ import annotations

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline import authorization
from keystead.pipeline.activity import Activity
from keystead.pipeline.cases import case_of_submission
from keystead.pipeline.commit import Decided, commit_of, vote_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import DENIALS, ComputedOutcome, event_decided, execute
from keystead.pipeline.requests import Submission
from keystead.pipeline.store import Commit
from keystead.policies.authorize import recorded
from keystead.policies.denial import denied


async def decide_submission(
    submission: Submission,
    caller: Principal,
    organization: Organization,
    environment: Environment,
    now_ms: int,
    computed: ComputedOutcome | None,
) -> Decided:
    """What to commit for a new submission, decided on this version of the organization.

    A denied submission leaves its evaluation. `computed`: by an earlier attempt at it. Raises ServiceError if
    refused with nothing to commit.
    """
    case = await case_of_submission(submission, caller, organization, environment, now_ms)
    decision = authorization.authorize_activity(case, organization, environment.rules.authorization)
    lacks_proofs = authorization.lacks_proofs(case, organization, decision)
    activity_id = environment.new_id()
    vote = vote_of(VoteSelection.APPROVED, activity_id, submission, caller, environment.new_id(), now_ms)
    evaluation = authorization.evaluation(
        environment.new_id(),
        activity_id,
        vote.id,
        organization.id,
        recorded(decision, authenticators_needed=lacks_proofs),
        now_ms,
    )
    if decision.verdict in DENIALS:
        commit = Commit(
            organization_id=organization.id,
            decided_on=organization.version,
            activity=None,
            evaluations=(evaluation,),
        )
        return Decided(commit, refusal=denied(decision, case.activity_type, activity_id))
    activity = Activity(
        id=activity_id,
        organization_id=organization.id,
        type=case.activity_type,
        status=ActivityStatus.CREATED,
        fingerprint=submission.fingerprint,
        request=submission.request,
        result={},
        votes=(vote,),
        app_proofs=(),
        failure=None,
        submitter_id=caller.user.user_id,
        proofs=case.proofs,
        approvals_since_ms=now_ms,
        revision=0,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )
    event = event_decided(decision, lacks_proofs=lacks_proofs)
    executed = await execute(event, activity, case, organization, environment, computed)
    return await commit_of(activity, executed, case, organization, evaluation, environment)
