"""What to commit for a vote: authorize, execute if that is now allowed, build the commit.

Not here: the queue and the write (`organization_writer`), the steps themselves.
"""

from __future__ import annotations

from functools import partial
from typing import assert_never

import msgspec
from msgspec.structs import replace

from keystead.api.enums import FINAL_STATUSES, VoteSelection
from keystead.api.errors import InvalidRequest, LimitReached
from keystead.api.records import Vote
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import Event, Proof, RecordedActivity, next_status, voter_bytes
from keystead.pipeline.authorization import (
    VoteAuthorization,
    authorize_vote,
    controls_in_the_way,
    evaluation_of,
    event_of,
    limits_by_policy,
)
from keystead.pipeline.bounds import APPROVALS_MAX, VOTE_BYTES_MAX, VOTERS_BYTES_MAX
from keystead.pipeline.decision_basis import DecisionBasis, basis_of_activity, scope_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execute import commit_of, execute
from keystead.pipeline.proofs import proof_of, vote_of
from keystead.pipeline.store import Commit
from keystead.pipeline.submission import Submission
from keystead.policies.authorize import Decision
from keystead.policies.denial import denied
from keystead.primitives.share import Work


class _Ballot(msgspec.Struct, frozen=True):
    """A vote, the activity with the vote, and the proofs that then count; None for a rejection.

    `repeats`: the vote is an approval with a credential that proved an approval of this user before.
    """

    vote: Vote
    activity: RecordedActivity
    proofs: tuple[Proof, ...] | None
    repeats: bool


async def decide_vote(
    on_record: RecordedActivity,
    submission: Submission,
    caller: Principal,
    organization: Organization,
    environment: Environment,
    now_ms: int,
) -> Commit | RecordedActivity:
    """What to commit for a vote on the activity `on_record`, on this version of the organization. `submission` is
    the vote.

    An approval that repeats an earlier one and changes nothing commits nothing: the answer is the activity. Raises
    ServiceError if the vote is refused.
    """
    _check_is_short(submission)
    _check_is_open(on_record)
    activity, voter_id = on_record.at(now_ms, environment.settings.approvals_last_ms), caller.user.user_id
    basis = await basis_of_activity(activity, organization, environment, now_ms, (voter_id,))
    scope = await scope_of(caller, organization, environment)
    ballot = _with_vote(activity, basis, submission, caller, environment)
    authorized = await environment.share.run(
        organization.id, Work.DECISION, partial(authorize_vote, basis, voter_id, scope, ballot.proofs)
    )
    decision, event = _decision(ballot, authorized, submission, basis)
    if ballot.repeats and next_status(activity.status, event) is activity.status:
        return on_record
    limits, evaluation_id = limits_by_policy(basis), environment.new_id()
    evaluation = evaluation_of(decision, event, evaluation_id, activity, ballot.vote, now_ms, limits)
    new_votes = () if ballot.vote in on_record.votes else (ballot.vote,)
    if ballot.proofs is not None:
        if not ballot.repeats:
            _check_takes_approval(activity, ballot.vote)
        basis = replace(basis, proofs=ballot.proofs)
    if event is not Event.EXECUTED:
        return commit_of(ballot.activity, event, basis, evaluation, new_votes=new_votes)
    commit = await execute(ballot.activity, basis, evaluation, environment, new_votes=new_votes)
    # Only the submitter gets the secrets of the result.
    return commit if voter_id == activity.submitter_id else replace(commit, answer=None)


def _decision(
    ballot: _Ballot, authorized: VoteAuthorization, submission: Submission, basis: DecisionBasis
) -> tuple[Decision, Event]:
    """The decision with the vote, and what happens to the activity. Raises PermissionDenied if this user may not
    vote, or not with this session, or if a policy denies because of this approval."""
    activity, type_ = ballot.activity, submission.body.version.activity_type
    before, after = authorized.before, authorized.after
    if not authorized.may_vote:
        raise denied(before, type_, activity.id, controls_in_the_way(basis))
    if after is None:
        return before, Event.REJECTED
    # A policy may deny because of who approves. Then only this approval is denied; others may follow.
    is_own = ballot.vote.user_id == activity.submitter_id
    if after.is_denial and (is_own or not before.is_denial):
        raise denied(after, type_, activity.id, controls_in_the_way(basis))
    return after, event_of(after, activity.submitter_id)


def _check_is_short(submission: Submission) -> None:
    if (size := len(submission.body.request)) > VOTE_BYTES_MAX:
        raise InvalidRequest(
            f"the body of a vote has at most {VOTE_BYTES_MAX} bytes, and this one has {size}: "
            "send it without white space"
        )


def _check_is_open(on_record: RecordedActivity) -> None:
    if on_record.status in FINAL_STATUSES:
        raise InvalidRequest(
            f"the activity is already in status {on_record.status}: votes on it are closed "
            "(field `parameters.fingerprint`)"
        )


def _check_takes_approval(activity: RecordedActivity, vote: Vote) -> None:
    if len(activity.proofs) >= APPROVALS_MAX:
        raise LimitReached(
            f"activity {activity.id} has {len(activity.proofs)} approvals, the most that an activity can have; "
            "submit it again, and let fewer users approve"
        )
    size = sum(voter_bytes(each.user) for each in (*activity.votes, vote))
    if size > VOTERS_BYTES_MAX:
        raise LimitReached(
            f"the users who have voted on activity {activity.id} and this user have records of {size} bytes, and "
            f"an activity takes at most {VOTERS_BYTES_MAX} bytes; submit it again, and let fewer users approve"
        )


def _with_vote(
    activity: RecordedActivity,
    basis: DecisionBasis,
    submission: Submission,
    caller: Principal,
    environment: Environment,
) -> _Ballot:
    """The vote on the activity. A user has one vote: a later one replaces it, and an approval with another
    credential adds a proof to it."""
    selection, user_id, now_ms = submission.body.operation.vote, caller.user.user_id, basis.now_ms
    assert selection is not None
    proof = proof_of(caller, submission, basis.organization, now_ms)
    vote = vote_of(selection, activity.id, submission, caller, environment.new_id(), now_ms)
    proofs, repeats = None, False
    match selection:
        case VoteSelection.APPROVED:
            earlier_proofs = [earlier for earlier in basis.proofs if earlier.user_id == user_id]
            repeats = any(earlier.record_id == proof.record_id for earlier in earlier_proofs)
            if earlier_proofs:
                vote = next(earlier for earlier in activity.votes if earlier.user_id == user_id)
            proofs = basis.proofs if repeats else (*basis.proofs, proof)
        case VoteSelection.REJECTED:
            pass
        case _:
            assert_never(selection)
    others = tuple([other for other in activity.votes if other.user_id != user_id])
    changed = replace(
        activity,
        votes=activity.votes if vote in activity.votes else (*others, vote),
        proofs=(*activity.proofs, proof),
        revision=activity.revision + 1,
        updated_at_ms=now_ms,
    )
    return _Ballot(vote, changed, proofs, repeats)
