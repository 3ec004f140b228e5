"""The step that executes an activity, and builds the commit of the decision and of what the execution asks for.

Here: the activity's next status, its result, app proofs, refusals. Not here: the functions (`operations`), the
organization's next version (`changes`), writing the commit (`storage`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from msgspec.structs import replace

from keystead.api.enums import ActivityStatus
from keystead.api.errors import ServiceError
from keystead.api.records import Evaluation, Status, Vote, Wire
from keystead.organizations.attached_rows import VersionedRow
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.app_proofs import app_proof_payloads
from keystead.pipeline.changes import changes_of, new_organization_of, result_of, versioned_rows
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import (
    ComputedOutput,
    Execution,
    ExecutionWith,
    ExecutionWithOAuth2,
    Output,
    RefusalWithRows,
)
from keystead.pipeline.states import Event, next_status
from keystead.pipeline.store import Changes, Commit
from keystead.pipeline.submission import recorded_envelope

CheckOutput = Callable[[Output[Wire]], Awaitable[None]]


async def execute(
    activity: RecordedActivity,
    basis: DecisionBasis,
    evaluation: Evaluation,
    environment: Environment,
    *,
    new_votes: tuple[Vote, ...],
    check: CheckOutput | None = None,
) -> Commit:
    """Execute the activity, and return the commit with its result.

    `evaluation`: the record of the decision that allows it. `new_votes`: as in `Commit`. `check` gets the output
    and may refuse it. For a new submission, a refusal that writes nothing is raised, and the commit of another
    refusal has no activity. For an activity on record, the refusal becomes its failure."""
    is_new, changes = activity.status is ActivityStatus.CREATED, None
    output: Output[Wire] | RefusalWithRows
    try:
        output = await _output(basis, environment)
        if isinstance(output, Output):
            if check is not None:
                await check(output)
            settings, share = environment.settings, environment.share
            changes = await changes_of(basis.organization, output, evaluation.id, settings.limits, share)
    except ServiceError as refused:
        if is_new or refused.is_temporary:
            raise
        output = RefusalWithRows(error=refused, rows=())
    if isinstance(output, Output):
        assert changes is None or basis.operation.changes_organization, basis.operation.name
        commit = commit_of(activity, Event.EXECUTED, basis, evaluation, new_votes=new_votes)
        return await _with_output(commit, output, changes, basis, environment)
    if is_new:
        return commit_of_refusal(output.error, activity, basis, evaluation, rows=output.rows)
    failure = Status(code=output.error.grpc_code, message=output.error.message)
    failed = replace(activity, failure=failure)
    return replace(commit_of(failed, Event.FAILED, basis, evaluation, new_votes=new_votes), rows=output.rows)


async def _output(basis: DecisionBasis, environment: Environment) -> Output[Wire] | RefusalWithRows:
    """The output of the operation's function, or of an earlier attempt if that was computed from an equal
    context."""
    if basis.missing is not None:
        raise basis.missing
    computed = basis.computed
    if computed is not None and computed.context == basis.context:
        return computed.output
    output = basis.operation.execute(execution_of(basis, environment), basis.intent)
    return output if isinstance(output, Output | RefusalWithRows) else await output


async def _with_output(
    commit: Commit,
    output: Output[Wire],
    changes: Changes | None,
    basis: DecisionBasis,
    environment: Environment,
) -> Commit:
    """The commit of an executed activity with everything that the execution asks for."""
    activity = commit.activity
    assert activity is not None
    recorded = output.result if output.recorded_result is None else output.recorded_result
    activity = replace(activity, result=result_of(basis.version, recorded))
    may_want_proofs = b'"generateAppProofs"' in activity.request  # cheaper than decoding every request
    if may_want_proofs and recorded_envelope(activity.request).generate_app_proofs:
        payloads = app_proof_payloads(activity, basis.organization, output.derived, basis.now_ms)
        activity = replace(activity, app_proofs=await environment.signer.sign_app_proofs(payloads))
    answer = None
    if output.recorded_result is not None:
        answer = replace(activity, result=result_of(basis.version, output.result))
    return replace(
        commit,
        activity=activity,
        changes=changes,
        new_organization=new_organization_of(output),
        rows=versioned_rows(output.attachments),
        answer=answer,
        computed=_reusable(output, basis),
    )


def commit_of(
    activity: RecordedActivity,
    event: Event,
    basis: DecisionBasis,
    evaluation: Evaluation,
    *,
    new_votes: tuple[Vote, ...],
) -> Commit:
    """The commit of the activity in the status that the event leads to, which changes nothing else."""
    return Commit(
        organization_id=basis.organization.id,
        decided_on=basis.organization.version,
        authorized_by=basis.authorized_by,
        activity=replace(activity, status=next_status(activity.status, event)),
        new_votes=new_votes,
        evaluations=(evaluation,),
    )


def commit_of_refusal(
    refusal: ServiceError,
    activity: RecordedActivity,
    basis: DecisionBasis,
    evaluation: Evaluation,
    rows: tuple[VersionedRow, ...] = (),
) -> Commit:
    """The commit of a new submission that is refused: its evaluation and the rows of the refusal, no activity."""
    return Commit(
        organization_id=activity.organization_id,
        decided_on=basis.organization.version,
        authorized_by=basis.authorized_by,
        activity=None,
        evaluations=(evaluation,),
        rows=rows,
        answer=refusal,
    )


def _reusable(output: Output[Wire], basis: DecisionBasis) -> ComputedOutput | None:
    """What a later attempt may commit without executing again: the output of an operation that depends only on its
    parameters and its context, such as a signature. A new organization also depends on its parent."""
    if output.new_organization is not None:
        return None
    if basis.operation.load_context is None or basis.operation.changes_organization:
        return None
    return ComputedOutput(basis.context, output)


def execution_of(basis: DecisionBasis, environment: Environment) -> Execution:
    """The argument of the operation's function, with the loaded context if the operation loads one."""
    kind: Callable[..., Execution] = Execution
    if basis.operation.asks_provider:
        kind = partial(ExecutionWithOAuth2, context=basis.context, oauth2=environment.oauth2)
    elif basis.operation.load_context is not None:
        kind = partial(ExecutionWith, context=basis.context)
    return kind(
        organization=basis.organization,
        submitter_id=basis.submitter_id,
        submission=basis.submission,
        now_ms=basis.now_ms,
        limits=environment.settings.limits,
        messages=environment.settings.messages,
        webhooks=environment.settings.webhooks,
        signer=environment.signer,
        new_id=environment.new_id,
        share=environment.share,
    )
