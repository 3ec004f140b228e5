"""The decision on a new submission: load context, authorize, execute, build the commit.

Not here: the queue and the write (`lifecycle`), the steps themselves.
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.errors import PermissionDenied
from keystead.api.records import Evaluation, Status, User, Wire
from keystead.organizations.organization import Organization, Put
from keystead.organizations.principals import Principal
from keystead.pipeline import authorization
from keystead.pipeline.activity import Activity, Outcome
from keystead.pipeline.authorization import Case
from keystead.pipeline.cases import case_of_submission
from keystead.pipeline.commit import Decided, commit_of, vote_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import DENIALS, ComputedOutcome, event_decided, execute
from keystead.pipeline.requests import Submission
from keystead.pipeline.states import Event
from keystead.pipeline.store import Commit
from keystead.policies.authorize import Verdict, recorded
from keystead.policies.denial import denied


async def decide_submission(
    submission: Submission,
    caller: Principal,
    organization: Organization,
    authority: Organization,
    environment: Environment,
    now_ms: int,
    computed: ComputedOutcome | None,
) -> Decided:
    """What to commit for a new submission, decided on this version of the organization.

    For a denied submission, only its evaluation is committed. `authority`: the caller's organization, whose
    policies decide. It is the parent if a user of the parent submits to a sub-organization. `computed`: the
    outcome of an earlier attempt. Raises ServiceError for a refusal with nothing to commit.
    """
    case = await case_of_submission(submission, caller, organization, authority, environment, now_ms)
    decision = authorization.authorize_activity(case, authority, environment.rules.authorization)
    lacks_proofs = authorization.lacks_proofs(case, authority, decision)
    is_by_parent = authority.id != organization.id
    authorized_by = (authority.id, authority.version) if is_by_parent else None
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
    chosen = environment.chosen_status(case.activity_type, submission.fingerprint)
    if chosen is None and decision.verdict in DENIALS:
        commit = Commit(
            organization_id=organization.id,
            decided_on=organization.version,
            authorized_by=authorized_by,
            activity=None,
            evaluations=(evaluation,),
        )
        return Decided(commit, refusal=denied(decision, case.activity_type, activity_id))
    if chosen is None and is_by_parent and (decision.verdict is not Verdict.ALLOW or lacks_proofs):
        raise PermissionDenied(
            f"{case.activity_type} by a user of the parent organization cannot wait for approvals or proofs; write "
            "a policy of the parent that allows it with this user's approval alone"
        )
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
    if chosen is not None and chosen is not ActivityStatus.COMPLETED:
        return _in_chosen_status(activity, chosen, organization, evaluation)
    event = event_decided(decision, lacks_proofs=lacks_proofs) if chosen is None else Event.EXECUTED
    executed = await execute(event, activity, case, organization, environment, computed)
    if is_by_parent and executed.outcome is not None:
        await _check_no_mfa_is_avoided(executed.outcome, case, organization, environment)
    decided = await commit_of(activity, executed, case, organization, evaluation, environment)
    if decided.commit is None or authorized_by is None:
        return decided
    return replace(decided, commit=replace(decided.commit, authorized_by=authorized_by))


def _in_chosen_status(
    activity: Activity, chosen: ActivityStatus, organization: Organization, evaluation: Evaluation
) -> Decided:
    """The activity in a status that a developer chose. It is not executed: an approval may still do that."""
    failure = (
        Status(code=13, message="a developer chose that this activity fails")
        if chosen is ActivityStatus.FAILED
        else None
    )
    activity = replace(activity, status=chosen, failure=failure)
    commit = Commit(
        organization_id=organization.id,
        decided_on=organization.version,
        activity=activity,
        evaluations=(evaluation,),
    )
    return Decided(commit, activity)


async def _check_no_mfa_is_avoided(
    outcome: Outcome[Wire], case: Case, organization: Organization, environment: Environment
) -> None:
    """Raise PermissionDenied if the outcome changes a user to whom an MFA policy for this activity applies.

    The parent's user cannot give that user's proofs, so a session from this activity would bypass the MFA policy.
    """
    changed = [change.record for change in outcome.changes if isinstance(change, Put)]
    users = [organization.users[one.user_id] for one in changed if isinstance(one, User)]
    case = replace(case, proofs=(), policies=await environment.policy_sets.of(organization, users))
    for user in users:
        if authorization.lacks_mfa_proofs(case, organization, user.user_id):
            raise PermissionDenied(
                f"an MFA policy of user {user.user_id} applies to {case.activity_type}, and only that user can "
                "prove what it asks for: log in with stamp_login"
            )
