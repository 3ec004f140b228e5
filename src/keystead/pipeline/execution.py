"""The step that executes an activity: it calls the operation's function and handles its refusals.

Here: the event that the decision and the execution lead to. Not here: the functions (`operations`), what is
committed (`commit`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.errors import NotImplementedHere, ServiceError
from keystead.api.records import Status, Wire
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import Activity, Execution, ExecutionWith, Outcome, Refusal
from keystead.pipeline.authorization import Case
from keystead.pipeline.environment import Environment
from keystead.pipeline.states import Event
from keystead.policies.authorize import Decision, Verdict

DENIALS = (Verdict.DENY_IMPLICIT, Verdict.DENY_EXPLICIT)


class ComputedOutcome(msgspec.Struct, frozen=True):
    """The outcome of an earlier attempt at the same request, and the context that it was computed from."""

    context: Any
    outcome: Outcome[Wire]


class Executed(msgspec.Struct, frozen=True):
    """`outcome` if the execution succeeded, `failure` if it was refused.

    `refusal`: why a new submission was refused; it becomes no activity. `rows`: what is written for a refusal.
    """

    event: Event
    outcome: Outcome[Wire] | None = None
    failure: Status | None = None
    refusal: ServiceError | None = None
    rows: tuple[VersionedRow, ...] = ()

    def reusable(self, case: Case) -> ComputedOutcome | None:
        """What a later attempt may commit without executing again: the outcome of an operation that depends only
        on its parameters and its context, such as a signature."""
        if self.outcome is None or case.operation.load_context is None or case.operation.changes_organization:
            return None
        return ComputedOutcome(case.context, self.outcome)


def event_decided(decision: Decision, *, lacks_proofs: bool) -> Event:
    """The event after a decision that does not deny. EXECUTED means: execute it now."""
    if lacks_proofs:
        return Event.LACKS_AUTHENTICATORS
    return Event.EXECUTED if decision.verdict is Verdict.ALLOW else Event.LACKS_CONSENSUS


async def execute(
    event: Event,
    activity: Activity,
    case: Case,
    organization: Organization,
    environment: Environment,
    computed: ComputedOutcome | None,
) -> Executed:
    """Execute the activity if the decision's `event` is EXECUTED.

    `computed` replaces another execution if its context equals the one that was loaded now. For a new submission,
    a refusal that writes nothing is raised. For an activity on record, the refusal becomes its failure.
    """
    if event is not Event.EXECUTED:
        return Executed(event)
    if computed is not None and case.missing is None and computed.context == case.context:
        return Executed(Event.EXECUTED, computed.outcome)
    try:
        if case.missing is not None:
            raise case.missing
        outcome = case.operation.execute(execution_of(case, organization, environment), case.current_intent())
        if not isinstance(outcome, Outcome | Refusal):
            outcome = await outcome
    except ServiceError as refused:
        if activity.status is ActivityStatus.CREATED or is_temporary(refused):
            raise
        return Executed(Event.FAILED, failure=_failure(refused))
    if isinstance(outcome, Refusal):
        if activity.status is ActivityStatus.CREATED:
            return Executed(Event.FAILED, refusal=outcome.error, rows=outcome.rows)
        return Executed(Event.FAILED, failure=_failure(outcome.error), rows=outcome.rows)
    return Executed(Event.EXECUTED, outcome)


def _failure(refused: ServiceError) -> Status:
    return Status(code=refused.grpc_code, message=refused.message)


def execution_of(case: Case, organization: Organization, environment: Environment) -> Execution:
    """The argument of the operation's function, with the loaded context if the operation loads one."""
    kind = Execution if case.operation.load_context is None else partial(ExecutionWith, context=case.context)
    return kind(
        organization=organization,
        submitter_id=case.submitter_id,
        stamped_with=case.stamped_with,
        session_profile_id=case.session_profile_id,
        identities=case.identities,
        now_ms=case.now_ms,
        limits=environment.rules.limits,
        messages=environment.rules.messages,
        signer=environment.signer,
        oauth2=environment.oauth2,
        new_id=environment.new_id,
    )


def is_temporary(refused: ServiceError) -> bool:
    """Whether a later attempt may succeed, because the refusal does not depend on the activity."""
    return refused.http_status >= 500 and not isinstance(refused, NotImplementedHere)
