"""The step that builds the commit from a decision and an execution.

Here: the activity's next status, its result, app proofs, the organization's change. Not here: writing it
(`store`).
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from keystead.api.enums import VoteSelection
from keystead.api.errors import ServiceError
from keystead.api.records import Evaluation, Timestamp, Vote
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline import states
from keystead.pipeline.activity import Activity
from keystead.pipeline.authorization import Case
from keystead.pipeline.effects import change_of, new_organization_of, result_of, versioned_rows
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import ComputedOutcome, Executed
from keystead.pipeline.proofs import proof_payloads
from keystead.pipeline.requests import Submission, recorded_envelope
from keystead.pipeline.store import Commit


class Decided(msgspec.Struct, frozen=True):
    """What to commit for a request, and what to answer after that is durable: the activity or a refusal.

    Without a commit nothing changes. `computed` is used by the next attempt, if the commit loses a race.
    """

    commit: Commit | None = None
    activity: Activity | None = None
    refusal: ServiceError | None = None
    computed: ComputedOutcome | None = None


async def commit_of(
    activity: Activity,
    executed: Executed,
    case: Case,
    organization: Organization,
    evaluation: Evaluation,
    environment: Environment,
) -> Decided:
    """The commit of the activity in its next status, with everything that changes.

    If the execution of a new submission is refused, the commit holds no activity. It holds the evaluation and the
    rows of the refusal.
    """
    if executed.refusal is not None:
        refused = Commit(
            organization_id=organization.id,
            decided_on=organization.version,
            activity=None,
            evaluations=(evaluation,),
            rows=executed.rows,
        )
        return Decided(refused, refusal=executed.refusal)
    rows = executed.rows
    activity = replace(activity, status=states.after(activity.status, executed.event), failure=executed.failure)
    change = new_organization = None
    if executed.outcome is not None:
        outcome = executed.outcome
        answered = result_of(case, outcome.result)
        recorded = outcome.recorded_result
        activity = replace(activity, result=answered if recorded is None else result_of(case, recorded))
        asked = b'"generateAppProofs"' in activity.request  # cheaper than decoding every request
        if asked and recorded_envelope(activity.request).generate_app_proofs:
            payloads = proof_payloads(activity, organization, executed.outcome.derived, case.now_ms)
            activity = replace(activity, app_proofs=await environment.signer.prove(payloads))
        change = change_of(organization, executed.outcome, evaluation.id)
        assert change is None or case.operation.changes_organization, case.operation.name
        new_organization = new_organization_of(executed.outcome)
        rows = versioned_rows(executed.outcome.attachments)
    commit = Commit(
        organization_id=organization.id,
        decided_on=organization.version,
        activity=activity,
        change=change,
        new_organization=new_organization,
        evaluations=(evaluation,),
        rows=rows,
    )
    if executed.outcome is not None:
        activity = replace(activity, result=answered)
    return Decided(commit, activity, computed=executed.reusable(case))


def vote_of(
    selection: VoteSelection, activity_id: str, submission: Submission, caller: Principal, vote_id: str, now_ms: int
) -> Vote:
    """The caller's vote, proved by the stamp on the submission."""
    return Vote(
        id=vote_id,
        user_id=caller.user.user_id,
        user=caller.user,
        activity_id=activity_id,
        selection=selection,
        message=submission.request.decode(),
        public_key=caller.proven.public_key,
        signature=caller.proven.signature,
        scheme=caller.proven.scheme,
        created_at=Timestamp.from_ms(now_ms),
    )
