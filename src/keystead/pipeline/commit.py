"""The step that builds the commit from a decision and an execution.

Here: the activity's next status, its result, app proofs, the organization's change. Not here: writing it
(`store`).
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from keystead.api.errors import ServiceError
from keystead.api.records import Evaluation, Vote
from keystead.organizations.attached_rows import VersionedRow
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.app_proofs import app_proof_payloads
from keystead.pipeline.basis import Basis, ComputedOutput
from keystead.pipeline.case import Case
from keystead.pipeline.effects import new_organization_of, result_of, versioned_rows
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import ExecutionResult
from keystead.pipeline.requests import recorded_envelope
from keystead.pipeline.states import next_status
from keystead.pipeline.store import Commit


class PlannedCommit(msgspec.Struct, frozen=True):
    """What to commit for a request, and the answer after the commit: the activity or a refusal.

    Without a commit nothing changes. `computed`: for the next attempt, if the commit is in conflict.
    """

    commit: Commit | None = None
    activity: RecordedActivity | None = None
    refusal: ServiceError | None = None
    computed: ComputedOutput | None = None


async def commit_of(
    activity: RecordedActivity,
    executed: ExecutionResult,
    case: Case,
    basis: Basis,
    evaluation: Evaluation,
    environment: Environment,
    *,
    new_votes: tuple[Vote, ...],
) -> PlannedCommit:
    """The commit of the activity in its next status, with everything that changes. `new_votes`: as in `Commit`.

    If the execution of a new submission is refused, the commit holds no activity. It holds the evaluation and the
    rows of the refusal.
    """
    if executed.refusal is not None:
        return commit_of_refusal(executed.refusal, activity, evaluation, basis, executed.rows)
    organization, rows = basis.organization, executed.rows
    activity = replace(activity, status=next_status(activity.status, executed.event), failure=executed.failure)
    write = new_organization = None
    if executed.output is not None:
        output = executed.output
        answered = result_of(case.version, output.result)
        recorded = output.recorded_result
        activity = replace(activity, result=answered if recorded is None else result_of(case.version, recorded))
        may_want_proofs = b'"generateAppProofs"' in activity.request  # cheaper than decoding every request
        if may_want_proofs and recorded_envelope(activity.request).generate_app_proofs:
            payloads = app_proof_payloads(activity, organization, executed.output.derived, case.now_ms)
            activity = replace(activity, app_proofs=await environment.signer.sign_app_proofs(payloads))
        write = executed.write
        assert write is None or case.operation.changes_organization, case.operation.name
        new_organization = new_organization_of(executed.output)
        rows = versioned_rows(executed.output.attachments)
    commit = Commit(
        organization_id=organization.id,
        decided_on=organization.version,
        authorized_by=basis.authorized_by,
        activity=activity,
        new_votes=new_votes,
        write=write,
        new_organization=new_organization,
        evaluations=(evaluation,),
        rows=rows,
    )
    if executed.output is not None:
        activity = replace(activity, result=answered)
    return PlannedCommit(commit, activity, computed=_reusable(executed, case))


def _reusable(executed: ExecutionResult, case: Case) -> ComputedOutput | None:
    """What a later attempt may commit without executing again: the output of an operation that depends only on its
    parameters and its context, such as a signature. A new organization also depends on its parent."""
    if executed.output is None or executed.output.new_organization is not None:
        return None
    if case.operation.load_context is None or case.operation.changes_organization:
        return None
    return ComputedOutput(case.context, executed.output)


def commit_of_refusal(
    refusal: ServiceError,
    activity: RecordedActivity,
    evaluation: Evaluation,
    basis: Basis,
    rows: tuple[VersionedRow, ...] = (),
) -> PlannedCommit:
    """The commit of a new submission that is refused: its evaluation and the rows of the refusal, no activity."""
    commit = Commit(
        organization_id=activity.organization_id,
        decided_on=basis.organization.version,
        authorized_by=basis.authorized_by,
        activity=None,
        evaluations=(evaluation,),
        rows=rows,
    )
    return PlannedCommit(commit, refusal=refusal)
