"""Policies: the organization's own rules of who may do what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import NO_CONTROLS_BUT_LINES, Label, Notes
from keystead.api.enums import Effect
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct
from keystead.api.records import Policy, Timestamp, Wire
from keystead.operations.declare import Reading, activity, older, query
from keystead.organizations.kinds.policies import CHARACTERS_PER_POLICY, POLICY_CHARACTERS, Policies
from keystead.organizations.limits import check_limit
from keystead.organizations.organization import Put, Remove
from keystead.pipeline.execution import Execution, Output
from keystead.policies.policy import characters_of, check_policy
from keystead.primitives.share import Work

AT_ONCE = 100
"""Most policies that one request may make or delete."""

ExpressionText = Annotated[str, Meta(max_length=10_000, pattern=NO_CONTROLS_BUT_LINES)]


class CreatePolicyIntentV3(RequestStruct, frozen=True):
    """An expression that is absent or empty is true."""

    policy_name: Label
    effect: Effect
    notes: Notes | None = None
    condition: ExpressionText | None = None
    consensus: ExpressionText | None = None
    time: ExpressionText | None = None


class CreatePolicyResult(Wire, frozen=True):
    policy_id: str


@activity("ACTIVITY_TYPE_CREATE_POLICY_V3", also_does=("CREATE_POLICIES", "UPDATE_POLICY"))
async def create_policy(execution: Execution, intent: CreatePolicyIntentV3) -> Output[CreatePolicyResult]:
    """Add a policy."""
    (policy,) = await _new_policies(execution, {"parameters": intent})
    return Output(result=CreatePolicyResult(policy_id=policy.policy_id), changes=(Put(policy),))


class CreatePoliciesIntent(RequestStruct, frozen=True):
    policies: Annotated[tuple[CreatePolicyIntentV3, ...], Meta(min_length=1, max_length=AT_ONCE)]


class CreatePoliciesResult(Wire, frozen=True):
    policy_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_CREATE_POLICIES", also_does=("CREATE_POLICY", "UPDATE_POLICY"))
async def create_policies(execution: Execution, intent: CreatePoliciesIntent) -> Output[CreatePoliciesResult]:
    """Add several policies, all or none."""
    by_field = {f"parameters.policies[{index}]": requested for index, requested in enumerate(intent.policies)}
    policies = await _new_policies(execution, by_field)
    return Output(
        result=CreatePoliciesResult(policy_ids=tuple(policy.policy_id for policy in policies)),
        changes=tuple(Put(policy) for policy in policies),
    )


async def _new_policies(execution: Execution, by_field: Mapping[str, CreatePolicyIntentV3]) -> list[Policy]:
    """The new policies. `by_field`: what is requested, by the field of the request."""
    organization = execution.organization
    organization.policies.check_limit(len(by_field), execution.limits)
    now = Timestamp.from_ms(execution.now_ms)
    used_names = organization.policies.labels()
    policies = []
    for field, intent in by_field.items():
        Policies.check_label(intent.policy_name, used_names, f"{field}.policyName")
        policy = Policy(
            policy_id=execution.new_id(),
            policy_name=intent.policy_name,
            effect=intent.effect,
            created_at=now,
            updated_at=now,
            notes=intent.notes or "",
            consensus=intent.consensus or "",
            condition=intent.condition or "",
            time=intent.time or None,
        )
        used_names[policy.policy_name] = policy.policy_id
        policies.append(policy)
    await _check_policies(policies, organization.policies.values(), execution)
    return policies


async def _check_policies(policies: Sequence[Policy], others: Iterable[Policy], execution: Execution) -> None:
    """Raise LimitReached if these policies have too many characters, by themselves or together with the others of
    the organization; InvalidRequest for an expression that does not compile. Other requests run in between."""
    for policy in policies:
        check_limit(0, characters_of(policy), CHARACTERS_PER_POLICY, execution.limits)
    have, adding = sum(map(characters_of, others)), sum(map(characters_of, policies))
    check_limit(have, adding, POLICY_CHARACTERS, execution.limits)
    controls = execution.organization.velocity_controls.labels()
    for policy in policies:
        check = partial(check_policy, policy, controls)
        await execution.share.run(execution.organization.id, Work.COMPILING, check, characters_of(policy))


class UpdatePolicyIntentV2(RequestStruct, frozen=True):
    """Absent fields stay unchanged; an empty expression removes the clause."""

    policy_id: Uuid
    policy_name: Label | None = None
    policy_effect: Effect | None = None
    policy_condition: ExpressionText | None = None
    policy_consensus: ExpressionText | None = None
    policy_notes: Notes | None = None
    time: ExpressionText | None = None


class UpdatePolicyIntent(RequestStruct, frozen=True):
    policy_id: Uuid
    policy_name: Label | None = None
    policy_effect: Effect | None = None
    policy_condition: ExpressionText | None = None
    policy_consensus: ExpressionText | None = None
    policy_notes: Notes | None = None


class UpdatePolicyResultV2(Wire, frozen=True):
    policy_id: str


def _from_v1(intent: UpdatePolicyIntent) -> UpdatePolicyIntentV2:
    return UpdatePolicyIntentV2(
        policy_id=intent.policy_id,
        policy_name=intent.policy_name,
        policy_effect=intent.policy_effect,
        policy_condition=intent.policy_condition,
        policy_consensus=intent.policy_consensus,
        policy_notes=intent.policy_notes,
    )


@activity(
    "ACTIVITY_TYPE_UPDATE_POLICY_V2",
    accepts=(older("ACTIVITY_TYPE_UPDATE_POLICY", _from_v1, result_key="updatePolicyResult"),),
    also_does=("CREATE_POLICY", "CREATE_POLICIES", "DELETE_POLICY", "DELETE_POLICIES"),
)
async def update_policy(execution: Execution, intent: UpdatePolicyIntentV2) -> Output[UpdatePolicyResultV2]:
    """Change a policy."""
    organization = execution.organization
    policy = organization.record(Policies, intent.policy_id)
    if intent.policy_name is not None and intent.policy_name != policy.policy_name:
        Policies.check_label(intent.policy_name, organization.policies.labels(), "parameters.policyName")
    changed = replace(
        policy,
        policy_name=policy.policy_name if intent.policy_name is None else intent.policy_name,
        effect=policy.effect if intent.policy_effect is None else intent.policy_effect,
        condition=policy.condition if intent.policy_condition is None else intent.policy_condition,
        consensus=policy.consensus if intent.policy_consensus is None else intent.policy_consensus,
        notes=policy.notes if intent.policy_notes is None else intent.policy_notes,
        time=policy.time if intent.time is None else intent.time or None,
        updated_at=Timestamp.from_ms(execution.now_ms),
    )
    others = [other for other in organization.policies.values() if other is not policy]
    await _check_policies((changed,), others, execution)
    return Output(result=UpdatePolicyResultV2(policy_id=policy.policy_id), changes=(Put(changed),))


class DeletePolicyIntent(RequestStruct, frozen=True):
    policy_id: Uuid


class DeletePolicyResult(Wire, frozen=True):
    policy_id: str


@activity("ACTIVITY_TYPE_DELETE_POLICY", also_does=("DELETE_POLICIES", "UPDATE_POLICY"))
def delete_policy(execution: Execution, intent: DeletePolicyIntent) -> Output[DeletePolicyResult]:
    """Delete a policy."""
    policy = execution.organization.record(Policies, intent.policy_id)
    return Output(
        result=DeletePolicyResult(policy_id=policy.policy_id), changes=(Remove(Policy, policy.policy_id),)
    )


class DeletePoliciesIntent(RequestStruct, frozen=True):
    policy_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=AT_ONCE)]


class DeletePoliciesResult(Wire, frozen=True):
    policy_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_POLICIES", also_does=("DELETE_POLICY", "UPDATE_POLICY"))
def delete_policies(execution: Execution, intent: DeletePoliciesIntent) -> Output[DeletePoliciesResult]:
    """Delete several policies, all or none."""
    deleted_ids = tuple(dict.fromkeys(intent.policy_ids))
    for policy_id in deleted_ids:
        execution.organization.record(Policies, policy_id)
    return Output(
        result=DeletePoliciesResult(policy_ids=deleted_ids),
        changes=tuple(Remove(Policy, policy_id) for policy_id in deleted_ids),
    )


class GetPolicyRequest(QueryRequest, frozen=True):
    policy_id: Uuid


class GetPolicyResponse(Wire, frozen=True):
    policy: Policy


@query()
def get_policy(reading: Reading, request: GetPolicyRequest) -> GetPolicyResponse:
    """One policy."""
    return GetPolicyResponse(policy=reading.organization.record(Policies, request.policy_id))


class ListPoliciesRequest(QueryRequest, frozen=True):
    pass


class ListPoliciesResponse(Wire, frozen=True):
    policies: tuple[Policy, ...]


@query(of_version=True)
def list_policies(reading: Reading, _: ListPoliciesRequest) -> ListPoliciesResponse:
    """All policies of the organization."""
    return ListPoliciesResponse(policies=tuple(reading.organization.policies.in_order()))
