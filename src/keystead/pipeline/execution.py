"""The step that executes an activity: it calls the operation's function and handles its refusals.

Here: the event that the decision and the execution lead to. Not here: the functions (`operations`), what is
committed (`commit`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.errors import NotImplementedHere, ServiceError
from keystead.api.records import Evaluation, Status, Wire
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.basis import Basis
from keystead.pipeline.case import Case
from keystead.pipeline.effects import write_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution_values import (
    Execution,
    ExecutionOutput,
    ExecutionWith,
    ExecutionWithOAuth2,
    RefusalWithRows,
)
from keystead.pipeline.states import Event
from keystead.pipeline.store import OrganizationWrite


class ExecutionResult(msgspec.Struct, frozen=True):
    """The result of the step. `output`: set if the execution succeeded, with what it writes, if it changes the
    organization. `failure`: set if it was refused.

    `refusal`: why a new submission is refused; it becomes no activity. `rows`: the rows to write for a refusal.
    """

    event: Event
    output: ExecutionOutput[Wire] | None = None
    write: OrganizationWrite | None = None
    failure: Status | None = None
    refusal: ServiceError | None = None
    rows: tuple[VersionedRow, ...] = ()


async def execute(
    event: Event,
    activity: RecordedActivity,
    case: Case,
    basis: Basis,
    evaluation: Evaluation,
    environment: Environment,
) -> ExecutionResult:
    """Execute the activity if the decision's `event` is EXECUTED. `evaluation`: the record of the decision.

    The output of an earlier attempt is used again if it was computed from an equal context. For a new submission,
    a refusal that writes nothing is raised. For an activity on record, the refusal becomes its failure.
    """
    if event is not Event.EXECUTED:
        return ExecutionResult(event)
    computed = basis.computed
    if computed is not None and case.missing is None and computed.context == case.context:
        return ExecutionResult(Event.EXECUTED, computed.output)
    try:
        if case.missing is not None:
            raise case.missing
        output = case.operation.execute(execution_of(case, basis.organization, environment), case.intent)
        if not isinstance(output, ExecutionOutput | RefusalWithRows):
            output = await output
        write = None
        if isinstance(output, ExecutionOutput):
            limits, slices = environment.settings.limits, environment.changing
            write = await write_of(basis.organization, output, evaluation.id, limits, slices)
    except ServiceError as refused:
        if activity.status is ActivityStatus.CREATED or is_temporary(refused):
            raise
        return ExecutionResult(Event.FAILED, failure=_failure(refused))
    if isinstance(output, RefusalWithRows):
        if activity.status is ActivityStatus.CREATED:
            return ExecutionResult(Event.FAILED, refusal=output.error, rows=output.rows)
        return ExecutionResult(Event.FAILED, failure=_failure(output.error), rows=output.rows)
    return ExecutionResult(Event.EXECUTED, output, write)


def _failure(refused: ServiceError) -> Status:
    return Status(code=refused.grpc_code, message=refused.message)


def execution_of(case: Case, organization: Organization, environment: Environment) -> Execution:
    """The argument of the operation's function, with the loaded context if the operation loads one."""
    kind: Callable[..., Execution] = Execution
    if case.operation.asks_provider:
        kind = partial(ExecutionWithOAuth2, context=case.context, oauth2=environment.oauth2)
    elif case.operation.load_context is not None:
        kind = partial(ExecutionWith, context=case.context)
    return kind(
        organization=organization,
        submitter_id=case.submitter_id,
        submission=case.submission,
        now_ms=case.now_ms,
        limits=environment.settings.limits,
        messages=environment.settings.messages,
        webhooks=environment.settings.webhooks,
        signer=environment.signer,
        new_id=environment.new_id,
        long_work=environment.long_work,
    )


def is_temporary(refused: ServiceError) -> bool:
    """Whether a later attempt may succeed, because the refusal does not depend on the activity."""
    return refused.http_status >= 500 and not isinstance(refused, NotImplementedHere)
