"""Rebuilds an organization from its first version and its activities on record only.

An execution draws its ids right after that of the evaluation which allowed it, so the record tells them too.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from keystead.api.enums import ActivityStatus
from keystead.api.records import Evaluation, Wire
from keystead.api.rendering import encode
from keystead.operations import CATALOGUE
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.changes import changes_of
from keystead.pipeline.context import ContextSource, SigningCache, TransactionSettings
from keystead.pipeline.decision_basis import DecisionBasis, added_credentials
from keystead.pipeline.environment import Environment, PipelineSettings
from keystead.pipeline.execute import execution_of
from keystead.pipeline.execution import Output
from keystead.pipeline.operation import ActivityOperation, AddedCredential, KnownBefore
from keystead.pipeline.policy_set_cache import CompiledPolicies, PolicySetCache
from keystead.pipeline.submission import Liveness, recorded_request
from keystead.policies.policy_set import PolicySet
from keystead.primitives.share import Share
from tests.support.fake_signer import FakeProviders, FakeSigner
from tests.support.memory_database import MemoryDatabase
from tests.support.memory_store import MemoryStore
from tests.support.organization_harness import Ids, ManualClock, number_of


async def replayed(
    first_version: Organization, activities: list[RecordedActivity], evaluations: list[Evaluation], limits: Limits
) -> tuple[Organization, list[Organization]]:
    """The organization after its completed activities, in the order in which they were allowed, and the
    organizations that they made."""
    allowed_by = {said.activity_id: said.id for said in evaluations}
    completed = [one for one in activities if one.status is ActivityStatus.COMPLETED]
    organization, made = first_version, []
    database = MemoryDatabase()
    database.insert(first_version)
    store = MemoryStore(database)
    for activity in sorted(completed, key=lambda one: number_of(allowed_by[one.id])):
        first_id = number_of(allowed_by[activity.id]) + 1
        output, added = await _executed(activity, organization, first_id, limits, store)
        write = await changes_of(organization, output, added, allowed_by[activity.id], limits, Share())
        if write is not None:
            organization = write.after
            database.write_organization(write)
        if output.new_organization is not None:
            made.append(output.new_organization.organization)
    return organization, made


async def _executed(
    activity: RecordedActivity, organization: Organization, first_id: int, limits: Limits, store: MemoryStore
) -> tuple[Output[Wire], Sequence[AddedCredential]]:
    """What the execution returns, and the credentials that the operation declares."""
    operation = CATALOGUE.of_type(activity.type)
    assert isinstance(operation, ActivityOperation)
    version = operation.version_of(activity.type)
    assert version is not None
    _, intent = recorded_request(version, activity.request)
    ids = Ids()
    ids.next = first_id
    asked = version.upgrade(intent)
    cache = SigningCache.of_bytes(1_000_000)
    context = (
        await operation.load_context(
            ContextSource(
                organization=organization,
                submitter_id=activity.submitter_id,
                store=store,
                transactions=TransactionSettings(),
                cache=cache,
                share=Share(),
            ),
            asked,
        )
        if operation.load_context
        else None
    )
    identities = activity.submission.identities if activity.submission else {}
    known = KnownBefore(organization, activity.submitter_id, identities, context)
    basis = DecisionBasis(
        organization=organization,
        authority=organization,
        operation=operation,
        version=version,
        intent=asked,
        policies=CompiledPolicies(PolicySet(()), {}),
        submitter_id=activity.submitter_id,
        added=added_credentials(operation, asked, known),
        owner_id=None,
        submission=activity.submission,
        proofs=(),
        now_ms=activity.updated_at_ms,
        context=context,
    )
    environment = Environment(
        signing_cache=cache,
        store=store,
        signer=FakeSigner(),
        oauth2=FakeProviders(),
        clock=ManualClock(),
        new_id=ids,
        catalogue=CATALOGUE,
        policy_sets=PolicySetCache(),
        settings=PipelineSettings(limits=limits, liveness=Liveness()),
    )
    execution = execution_of(basis, environment)
    executed = operation.execute(execution, asked)
    output = await executed if inspect.isawaitable(executed) else executed
    assert isinstance(output, Output)
    assert [(key, bytes(result)) for key, result in activity.result.items()] == [
        (version.result_key, encode(output.result))
    ]
    return output, basis.added
