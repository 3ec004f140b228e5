"""MFA policies: which further proofs a user's activities need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api import records
from keystead.api.decoding import NO_CONTROLS_BUT_LINES, Label, Notes
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct, RequiredAuthenticationMethodParams
from keystead.operations.declare import Reading, activity, query
from keystead.organizations.kinds.users import MFA_POLICIES, MFA_POLICY_CHARACTERS, Users
from keystead.organizations.limits import check_limit
from keystead.organizations.organization import Put
from keystead.pipeline.execution import Execution, Output
from keystead.policies.language.expression import Expression
from keystead.policies.language.syntax import ExpressionRefused
from keystead.policies.policy import mfa_condition_source
from keystead.primitives.share import Work


class CreateMfaPolicyIntent(RequestStruct, frozen=True):
    """`order`: of the policies whose condition holds, the one with the lowest order is enforced."""

    user_id: Uuid
    mfa_policy_name: Label
    condition: Annotated[str, Meta(max_length=10_000, pattern=NO_CONTROLS_BUT_LINES)]
    required_authentication_methods: Annotated[
        tuple[RequiredAuthenticationMethodParams, ...], Meta(min_length=1, max_length=20)
    ]
    order: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    notes: Notes | None = None


class CreateMfaPolicyResult(records.Wire, frozen=True):
    mfa_policy_id: str


@activity("ACTIVITY_TYPE_CREATE_MFA_POLICY", also_does=("DELETE_MFA_POLICY", "UPDATE_MFA_POLICY"))
async def create_mfa_policy(execution: Execution, intent: CreateMfaPolicyIntent) -> Output[CreateMfaPolicyResult]:
    """Add an MFA policy: which further proofs a user's activities need."""
    user = execution.organization.record(Users, intent.user_id)
    check_limit(len(user.mfa_policies), 1, MFA_POLICIES, execution.limits)
    _check_order_free(user.mfa_policies, intent.order)
    now = records.Timestamp.from_ms(execution.now_ms)
    policy = records.MfaPolicy(
        mfa_policy_id=execution.new_id(),
        mfa_policy_name=intent.mfa_policy_name,
        condition=await _checked_condition(intent.condition, user.mfa_policies, execution),
        required_authentication_methods=tuple(map(_required_method, intent.required_authentication_methods)),
        order=intent.order,
        notes=intent.notes,
        created_at=now,
        updated_at=now,
    )
    return Output(
        result=CreateMfaPolicyResult(mfa_policy_id=policy.mfa_policy_id),
        changes=(Put(replace(user, mfa_policies=(*user.mfa_policies, policy), updated_at=now)),),
    )


class UpdateMfaPolicyIntent(RequestStruct, frozen=True):
    """Absent fields do not change."""

    user_id: Uuid
    mfa_policy_id: Uuid
    mfa_policy_name: Label | None = None
    condition: Annotated[str, Meta(max_length=10_000, pattern=NO_CONTROLS_BUT_LINES)] | None = None
    required_authentication_methods: (
        Annotated[tuple[RequiredAuthenticationMethodParams, ...], Meta(min_length=1, max_length=20)] | None
    ) = None
    order: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    notes: Notes | None = None


class UpdateMfaPolicyResult(records.Wire, frozen=True):
    mfa_policy_id: str


@activity("ACTIVITY_TYPE_UPDATE_MFA_POLICY", also_does=("CREATE_MFA_POLICY", "DELETE_MFA_POLICY"))
async def update_mfa_policy(execution: Execution, intent: UpdateMfaPolicyIntent) -> Output[UpdateMfaPolicyResult]:
    """Change an MFA policy."""
    user = execution.organization.record(Users, intent.user_id)
    policy = _policy_named(user, intent.mfa_policy_id)
    now = records.Timestamp.from_ms(execution.now_ms)
    others = [other for other in user.mfa_policies if other is not policy]
    if intent.order is not None:
        _check_order_free(others, intent.order)
    required = intent.required_authentication_methods
    changed = replace(
        policy,
        mfa_policy_name=policy.mfa_policy_name if intent.mfa_policy_name is None else intent.mfa_policy_name,
        condition=policy.condition
        if intent.condition is None
        else await _checked_condition(intent.condition, others, execution),
        required_authentication_methods=policy.required_authentication_methods
        if required is None
        else tuple(map(_required_method, required)),
        order=policy.order if intent.order is None else intent.order,
        notes=policy.notes if intent.notes is None else intent.notes,
        updated_at=now,
    )
    policies = tuple(changed if other is policy else other for other in user.mfa_policies)
    return Output(
        result=UpdateMfaPolicyResult(mfa_policy_id=policy.mfa_policy_id),
        changes=(Put(replace(user, mfa_policies=policies, updated_at=now)),),
    )


class DeleteMfaPolicyIntent(RequestStruct, frozen=True):
    user_id: Uuid
    mfa_policy_id: Uuid


class DeleteMfaPolicyResult(records.Wire, frozen=True):
    mfa_policy_id: str


@activity("ACTIVITY_TYPE_DELETE_MFA_POLICY", also_does=("UPDATE_MFA_POLICY",))
def delete_mfa_policy(execution: Execution, intent: DeleteMfaPolicyIntent) -> Output[DeleteMfaPolicyResult]:
    """Delete an MFA policy."""
    user = execution.organization.record(Users, intent.user_id)
    policy = _policy_named(user, intent.mfa_policy_id)
    policies = tuple(other for other in user.mfa_policies if other is not policy)
    now = records.Timestamp.from_ms(execution.now_ms)
    return Output(
        result=DeleteMfaPolicyResult(mfa_policy_id=policy.mfa_policy_id),
        changes=(Put(replace(user, mfa_policies=policies, updated_at=now)),),
    )


class GetMfaPolicyRequest(QueryRequest, frozen=True):
    user_id: Uuid
    mfa_policy_id: Uuid


class GetMfaPolicyResponse(records.Wire, frozen=True):
    mfa_policy: records.MfaPolicy


@query()
def get_mfa_policy(reading: Reading, request: GetMfaPolicyRequest) -> GetMfaPolicyResponse:
    """One MFA policy of a user."""
    user = reading.organization.record(Users, request.user_id)
    return GetMfaPolicyResponse(mfa_policy=_policy_named(user, request.mfa_policy_id))


class GetMfaPoliciesRequest(QueryRequest, frozen=True):
    user_id: Uuid


class GetMfaPoliciesResponse(records.Wire, frozen=True):
    mfa_policies: tuple[records.MfaPolicy, ...]


@query()
def get_mfa_policies(reading: Reading, request: GetMfaPoliciesRequest) -> GetMfaPoliciesResponse:
    """All MFA policies of a user."""
    return GetMfaPoliciesResponse(mfa_policies=reading.organization.record(Users, request.user_id).mfa_policies)


def _policy_named(user: records.User, mfa_policy_id: str) -> records.MfaPolicy:
    for policy in user.mfa_policies:
        if policy.mfa_policy_id == mfa_policy_id:
            return policy
    raise NotFound(f"unable to find MFA policy {mfa_policy_id} of user {user.user_id}")


def _check_order_free(others: Iterable[records.MfaPolicy], order: int) -> None:
    for other in others:
        if other.order == order:
            raise InvalidRequest(
                f"invalid request: field `parameters.order`: {order} is the order of the MFA policy "
                f"{other.mfa_policy_name!r} ({other.mfa_policy_id}) of this user"
            )


def _required_method(step: RequiredAuthenticationMethodParams) -> records.RequiredAuthenticationMethod:
    return records.RequiredAuthenticationMethod(
        any=tuple(records.AuthenticationMethod(type=method.type, id=method.id) for method in step.any)
    )


async def _checked_condition(condition: str, others: Iterable[records.MfaPolicy], execution: Execution) -> str:
    """The condition, if it compiles; "" always holds. Raises InvalidRequest, and LimitReached if the conditions of
    the user, with `others`, have too many characters."""
    have = sum(len(other.condition) for other in others)
    check_limit(have, len(condition), MFA_POLICY_CHARACTERS, execution.limits)
    controls = execution.organization.velocity_controls.labels()
    try:
        if condition:
            await execution.share.run(
                execution.organization.id,
                Work.COMPILING,
                lambda: Expression(mfa_condition_source(condition), controls),
                len(condition),
            )
    except ExpressionRefused as refused:
        raise InvalidRequest(f"invalid mfa policy condition: {refused}") from None
    return condition
