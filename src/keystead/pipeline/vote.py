"""The decision on a vote: load context, authorize, execute if that is now allowed, build the commit.

Not here: the queue and the write (`lifecycle`), the steps themselves.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from keystead.api.enums import VoteSelection
from keystead.api.errors import InvalidRequest
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline import authorization, states
from keystead.pipeline.activity import Activity
from keystead.pipeline.cases import case_of_activity, scope_of
from keystead.pipeline.commit import Decided, commit_of, vote_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import DENIALS, ComputedOutcome, event_decided, execute
from keystead.pipeline.requests import Submission
from keystead.pipeline.states import Event
from keystead.policies.authorize import Rule, recorded
from keystead.policies.denial import denied


async def decide_vote(
    on_record: Activity,
    submission: Submission,
    caller: Principal,
    organization: Organization,
    environment: Environment,
    now_ms: int,
    computed: ComputedOutcome | None,
) -> Decided:
    """What to commit for a vote on the activity `on_record`, decided on this version of the organization.

    `submission` is the vote. An approval that repeats an earlier one and changes nothing commits nothing.
    `computed`: the outcome of an earlier attempt. Raises ServiceError if the vote is refused.
    """
    selection, user_id = submission.operation.vote, caller.user.user_id
    settings = environment.rules.authorization
    assert selection is not None
    if states.is_final(on_record.status):
        raise InvalidRequest(
            f"the activity is already in status {on_record.status}: votes on it are closed "
            "(field `parameters.fingerprint`)"
        )
    activity = authorization.at(on_record, now_ms, environment.rules.approvals_last_ms)
    proof = authorization.proof_of(caller, submission, now_ms)
    counted = authorization.counted_proofs(activity, organization)
    case = await case_of_activity(activity, organization, environment, (user_id,))
    case = replace(case, proofs=counted, now_ms=now_ms)
    scope = await scope_of(caller, organization, environment)
    if scope is not None:
        limited = authorization.authorize_activity(replace(case, scope=scope), organization, settings)
        if limited.rule is Rule.SESSION_SCOPE:
            raise denied(limited, submission.version.activity_type, activity.id)
    decision_before = authorization.authorize_activity(case, organization, settings)
    await asyncio.sleep(0)  # Expensive policies are evaluated three times; other requests run in between.
    if not authorization.may_approve(case, organization, user_id, settings):
        raise denied(decision_before, submission.version.activity_type, activity.id)
    await asyncio.sleep(0)
    vote = vote_of(selection, activity.id, submission, caller, environment.new_id(), now_ms)
    mine = [one for one in counted if one.user_id == user_id]
    repeats = selection is VoteSelection.APPROVED and any(one.record_id == proof.record_id for one in mine)
    if selection is VoteSelection.APPROVED and mine:
        # Another credential proves another method. The user's vote stays the first one.
        vote = next(one for one in activity.votes if one.user_id == user_id)
    others = tuple(one for one in activity.votes if one.user_id != user_id)
    activity = replace(
        activity,
        votes=activity.votes if vote in activity.votes else (*others, vote),
        proofs=(*activity.proofs, proof),
        revision=activity.revision + 1,
        updated_at_ms=now_ms,
    )
    if selection is VoteSelection.REJECTED:
        decision, event = recorded(decision_before, rejected=True), Event.REJECTED
    else:
        case = case if repeats else replace(case, proofs=(*counted, proof))
        decision = authorization.authorize_activity(case, organization, settings)
        # A policy may deny because of who approves. Then only this approval is denied; others may follow.
        denies_this = user_id == case.submitter_id or decision_before.verdict not in DENIALS
        if decision.verdict in DENIALS and denies_this:
            raise denied(decision, submission.version.activity_type, activity.id)
        lacks_proofs = authorization.lacks_proofs(case, organization, decision)
        event = event_decided(decision, lacks_proofs=lacks_proofs)
        if repeats and states.after(activity.status, event) is activity.status:
            return Decided(activity=on_record)
        decision = recorded(decision, authenticators_needed=lacks_proofs)
    evaluation = authorization.evaluation(
        environment.new_id(), activity.id, vote.id, organization.id, decision, now_ms
    )
    executed = await execute(event, activity, case, organization, environment, computed)
    decided = await commit_of(activity, executed, case, organization, evaluation, environment)
    if user_id != activity.submitter_id and decided.commit is not None:
        decided = replace(decided, activity=decided.commit.activity)  # no secret for other voters
    return decided
