"""What to commit for a vote: load context, authorize, execute if that is now allowed, build the commit.

Not here: the queue and the write (`lifecycle`), the steps themselves.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from keystead.api.enums import FINAL_STATUSES, VoteSelection
from keystead.api.errors import InvalidRequest, LimitReached
from keystead.api.records import Vote
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import RecordedActivity, voter_bytes
from keystead.pipeline.authorization import AuthorizationResult, authorize_activity, decision_on, may_approve
from keystead.pipeline.basis import Basis
from keystead.pipeline.case import Case
from keystead.pipeline.commit import PlannedCommit, commit_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import execute
from keystead.pipeline.load_context import case_of_activity, scope_of
from keystead.pipeline.proofs import proof_of, vote_of
from keystead.pipeline.requests import Submission
from keystead.pipeline.states import Event, next_status
from keystead.policies.authorize import Decision, Rule
from keystead.policies.denial import denied

VOTE_BYTES_MAX: Final = 4_096
"""The most bytes of the request of a vote. Every answer about the activity contains the requests of all votes."""

APPROVALS_MAX: Final = 250
"""The most approvals of an activity, those that have lapsed included. Every vote, and every answer about the
activity, reads all of them."""

VOTERS_BYTES_MAX: Final = 1_048_576
"""The most bytes of the records of all users who vote on an activity. Each vote holds the record of its user."""


class _Ballot(msgspec.Struct, frozen=True):
    """A vote, the activity with the vote, and the case with the voter's proof.

    `repeats`: the vote is an approval with a credential that proved an approval of this user before.
    """

    vote: Vote
    activity: RecordedActivity
    case: Case
    repeats: bool


async def plan_vote(
    on_record: RecordedActivity, submission: Submission, caller: Principal, basis: Basis, environment: Environment
) -> PlannedCommit:
    """What to commit for a vote on the activity `on_record`. `submission` is the vote.

    An approval that repeats an earlier one and changes nothing commits nothing. Raises ServiceError if the vote is
    refused.
    """
    _check_is_short(submission)
    _check_is_open(on_record)
    activity = on_record.at(basis.now_ms, environment.settings.approvals_last_ms)
    voter_id = caller.user.user_id
    case = await case_of_activity(activity, basis.organization, environment, basis.now_ms, (voter_id,))
    before = await _authorize_voter(activity, case, submission, caller, basis, environment)
    ballot = _with_vote(activity, case, submission, caller, basis.organization, environment)
    authorized = await _authorize_vote(ballot, before, submission, basis, environment)
    if ballot.repeats and next_status(activity.status, authorized.event) is activity.status:
        return PlannedCommit(activity=on_record)
    evaluation = authorized.evaluation(environment.new_id(), activity, ballot.vote, basis.now_ms)
    executed = await execute(authorized.event, ballot.activity, ballot.case, basis, evaluation, environment)
    new_votes = () if ballot.vote in on_record.votes else (ballot.vote,)
    planned = await commit_of(
        ballot.activity, executed, ballot.case, basis, evaluation, environment, new_votes=new_votes
    )
    if voter_id != activity.submitter_id and planned.commit is not None:
        # Only the submitter gets the secrets of the result.
        return replace(planned, activity=planned.commit.activity)
    return planned


def _check_is_short(submission: Submission) -> None:
    if (size := len(submission.request)) > VOTE_BYTES_MAX:
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


async def _authorize_voter(
    activity: RecordedActivity,
    case: Case,
    submission: Submission,
    caller: Principal,
    basis: Basis,
    environment: Environment,
) -> Decision:
    """The decision before the vote. Raises PermissionDenied if this user may not vote, or not with this session."""
    organization, settings = basis.organization, environment.settings.authorization
    decide = partial(environment.long_work.run_decision, organization.id)
    scope = await scope_of(caller, organization, environment)
    if scope is not None:
        scoped = replace(case, scope=scope)
        limited = await decide(partial(decision_on, scoped, organization, settings))
        if limited.rule is Rule.SESSION_SCOPE:
            raise denied(limited, submission.version.activity_type, activity.id)
    before = await decide(partial(decision_on, case, organization, settings))
    await asyncio.sleep(0)  # Expensive policies are evaluated three times; other requests run in between.
    if not await decide(partial(may_approve, case, organization, caller.user.user_id, settings)):
        raise denied(before, submission.version.activity_type, activity.id)
    await asyncio.sleep(0)
    return before


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
    case: Case,
    submission: Submission,
    caller: Principal,
    organization: Organization,
    environment: Environment,
) -> _Ballot:
    """The vote on the activity. A user has one vote: a later one replaces it, and an approval with another
    credential adds a proof to it."""
    selection, user_id, now_ms = submission.operation.vote, caller.user.user_id, case.now_ms
    assert selection is not None
    proof = proof_of(caller, submission, organization, now_ms)
    vote = vote_of(selection, activity.id, submission, caller, environment.new_id(), now_ms)
    repeats = False
    if selection is VoteSelection.APPROVED:
        earlier_proofs = [earlier for earlier in case.proofs if earlier.user_id == user_id]
        repeats = any(earlier.record_id == proof.record_id for earlier in earlier_proofs)
        if earlier_proofs:
            vote = next(earlier for earlier in activity.votes if earlier.user_id == user_id)
        if not repeats:
            _check_takes_approval(activity, vote)
            case = replace(case, proofs=(*case.proofs, proof))
    others = tuple(other for other in activity.votes if other.user_id != user_id)
    changed = replace(
        activity,
        votes=activity.votes if vote in activity.votes else (*others, vote),
        proofs=(*activity.proofs, proof),
        revision=activity.revision + 1,
        updated_at_ms=now_ms,
    )
    return _Ballot(vote, changed, case, repeats)


async def _authorize_vote(
    ballot: _Ballot, before: Decision, submission: Submission, basis: Basis, environment: Environment
) -> AuthorizationResult:
    """The decision with the vote. Raises PermissionDenied if a policy denies because of this approval."""
    match selection := ballot.vote.selection:
        case VoteSelection.REJECTED:
            return AuthorizationResult(before, Event.REJECTED)
        case VoteSelection.APPROVED:
            organization, settings = basis.organization, environment.settings.authorization
            authorized = await environment.long_work.run_decision(
                organization.id, partial(authorize_activity, ballot.case, organization, settings)
            )
            # A policy may deny because of who approves. Then only this approval is denied; others may follow.
            is_own = ballot.vote.user_id == ballot.activity.submitter_id
            if authorized.decision.is_denial and (is_own or not before.is_denial):
                raise denied(authorized.decision, submission.version.activity_type, ballot.activity.id)
            return authorized
        case _:
            assert_never(selection)
