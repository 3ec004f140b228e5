"""Velocity controls: create, delete and read them, and how much is left of each.

A control never changes. Not here: what counts (`organizations.velocity`, `chains.outflow`), the check when
something is signed (`pipeline.controls`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Final

from msgspec import Meta

from keystead.api.catalogue import activity_kind
from keystead.api.decoding import Label
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct
from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.api.records import Timestamp, Wire
from keystead.api.velocity_controls import (
    ActivityFilter,
    Aggregation,
    ChainAssetTransfer,
    DataSource,
    VelocityControl,
)
from keystead.chains.assets import EVM, asset_named
from keystead.operations.declare import Reading, activity, query
from keystead.organizations.kinds.velocity_controls import VelocityControls
from keystead.organizations.organization import Organization, Put, Remove
from keystead.organizations.velocity.counters import NOTHING_COUNTED, counter_id
from keystead.organizations.velocity.measures import measure_of
from keystead.pipeline.controls import ControlReading, rfc3339
from keystead.pipeline.execution import Execution, Output
from keystead.policies.language.expression import ExpressionSource, compile_stored
from keystead.policies.language.namespaces import CONTROLS
from keystead.policies.policy import mfa_condition_source, scope_source, sources_of
from keystead.policies.resources import attributes_of
from keystead.primitives.share import Work

IDENTIFIER: Final = r"^[A-Za-z_][A-Za-z0-9_]{0,63}\Z"

_RESERVED: Final = frozenset({"true", "false", "in", "any", "all", "filter", "contains", "count"})
"""Words of the policy language, which names none of its fields with them."""


class CreateVelocityControlIntent(RequestStruct, frozen=True):
    name: Label
    identifier: Annotated[str, Meta(pattern=IDENTIFIER)]
    data_source: DataSource
    aggregation: Aggregation


class CreateVelocityControlResult(Wire, frozen=True):
    velocity_control_id: str


@activity("ACTIVITY_TYPE_CREATE_VELOCITY_CONTROL")
def create_velocity_control(
    execution: Execution, intent: CreateVelocityControlIntent
) -> Output[CreateVelocityControlResult]:
    """Add a limit on what the organization signs, or on how often its activities are executed. Policies name it."""
    controls = execution.organization.velocity_controls
    controls.check_limit(1, execution.limits)
    VelocityControls.check_label(intent.identifier, controls.labels(), "parameters.identifier")
    if intent.identifier in _RESERVED:
        raise InvalidRequest(
            f"invalid request: field `parameters.identifier`: {intent.identifier!r} is a word of policies"
        )
    _check_data_source(intent.data_source)
    now = Timestamp.from_ms(execution.now_ms)
    control = VelocityControl(
        velocity_control_id=execution.new_id(),
        organization_id=execution.organization.id,
        name=intent.name,
        identifier=intent.identifier,
        data_source=intent.data_source,
        aggregation=intent.aggregation,
        created_at=now,
        updated_at=now,
    )
    return Output(
        result=CreateVelocityControlResult(velocity_control_id=control.velocity_control_id), changes=(Put(control),)
    )


def _check_data_source(source: DataSource) -> None:
    if (transfer := source.chain_asset_transfer) is not None:
        _check_transfer(transfer, "parameters.dataSource.chainAssetTransfer")
    if (executed := source.activity_execution) is not None:
        _check_filter(executed.filter, "parameters.dataSource.activityExecution.filter")


def _check_transfer(transfer: ChainAssetTransfer, field: str) -> None:
    if transfer.phase is not None and transfer.phase.submission is not None:
        raise InvalidRequest(
            f"invalid request: field `{field}.phase.submission`: it is reserved; a transfer is measured when it is "
            "signed: leave `phase` out, or write `signature`"
        )
    _check_filter(transfer.filter, f"{field}.filter")
    seen: dict[tuple[str, str, str], str] = {}
    for index, definition in enumerate(transfer.definition):
        place = f"{field}.definition[{index}].caip19"
        try:
            asset = asset_named(definition.caip19)
        except ValueError as refused:
            raise InvalidRequest(
                f"invalid request: field `{place}`: {refused}, not {definition.caip19!r}"
            ) from None
        # Only Ethereum's transactions name their chain.
        key = (asset.namespace, asset.reference if asset.namespace == EVM else "", asset.address)
        if key in seen:
            raise InvalidRequest(
                f"invalid request: field `{place}`: a signature cannot be told from one of {seen[key]}, which is "
                "listed, too"
            )
        seen[key] = definition.caip19


def _check_filter(filter_: ActivityFilter | None, field: str) -> None:
    for index, each in enumerate((filter_.activity if filter_ is not None else None) or ()):
        kind = activity_kind(each.activity_type)
        if each.activity_type not in ACTIVITY_TYPES and attributes_of(each.activity_type) is None:
            raise InvalidRequest(
                f"invalid request: field `{field}.activity[{index}].activityType`: there is no activity type "
                f"{each.activity_type!r} (kind {kind!r})"
            )


class DeleteVelocityControlIntent(RequestStruct, frozen=True):
    velocity_control_id: Uuid


class DeleteVelocityControlResult(Wire, frozen=True):
    velocity_control_id: str


@activity("ACTIVITY_TYPE_DELETE_VELOCITY_CONTROL")
async def delete_velocity_control(
    execution: Execution, intent: DeleteVelocityControlIntent
) -> Output[DeleteVelocityControlResult]:
    """Delete a velocity control that no policy, MFA policy or session profile names."""
    organization = execution.organization
    control = organization.record(VelocityControls, intent.velocity_control_id)
    for what, source in _sources(organization):
        if CONTROLS in source.text and control.identifier in source.text:
            compiled = await execution.share.run(
                organization.id, Work.COMPILING, partial(compile_stored, source), len(source.text)
            )
            if control.identifier in compiled.controls or not compiled.names:
                raise InvalidRequest(
                    f"velocity control {control.identifier!r} cannot be deleted: {what} names it "
                    f"({CONTROLS}.{control.identifier})"
                )
    return Output(
        result=DeleteVelocityControlResult(velocity_control_id=control.velocity_control_id),
        changes=(Remove(VelocityControl, control.velocity_control_id),),
    )


def _sources(organization: Organization) -> Iterator[tuple[str, ExpressionSource]]:
    """Every expression that may name a control, and whose it is, in words."""
    for policy in organization.policies.in_order():
        for source in sources_of(policy).given:
            yield f"the policy {policy.policy_name!r} ({policy.policy_id})", source
    for user in organization.users.in_order():
        for mfa_policy in user.mfa_policies:
            if mfa_policy.condition:
                what = f"the MFA policy {mfa_policy.mfa_policy_name!r} of user {user.user_id}"
                yield what, mfa_condition_source(mfa_policy.condition)
    for profile in organization.session_profiles.in_order():
        what = f"the session profile {profile.session_profile_name!r} ({profile.session_profile_id})"
        yield what, scope_source(profile.scope)


class GetVelocityControlRequest(QueryRequest, frozen=True):
    velocity_control_id: Uuid


class GetVelocityControlResponse(Wire, frozen=True):
    velocity_control: VelocityControl


@query()
def get_velocity_control(reading: Reading, request: GetVelocityControlRequest) -> GetVelocityControlResponse:
    """One velocity control."""
    control = reading.organization.record(VelocityControls, request.velocity_control_id)
    return GetVelocityControlResponse(velocity_control=control)


class ListVelocityControlsRequest(QueryRequest, frozen=True):
    pass


class ListVelocityControlsResponse(Wire, frozen=True):
    velocity_controls: tuple[VelocityControl, ...]


@query(of_version=True)
def list_velocity_controls(reading: Reading, _: ListVelocityControlsRequest) -> ListVelocityControlsResponse:
    """All velocity controls of the organization, in order of creation."""
    return ListVelocityControlsResponse(velocity_controls=tuple(reading.organization.velocity_controls.in_order()))


class GetVelocityControlUsageRequest(QueryRequest, frozen=True):
    """`user_id`: of a control by user; the caller if it is absent. `wallet_id`: of a control by wallet; the id of a
    wallet or of a private key."""

    velocity_control_id: Uuid
    user_id: Uuid | None = None
    wallet_id: Uuid | None = None


class GetVelocityControlUsageResponse(Wire, frozen=True):
    """Decimal text, in the unit of the threshold. `remaining`: the threshold less what is used, at least 0.
    `frees_at`: when the first amount leaves the rolling window (RFC 3339); absent if nothing will."""

    used: str
    threshold: str
    remaining: str
    frees_at: str | None = None


@query(own=True)
async def get_velocity_control_usage(
    reading: Reading, request: GetVelocityControlUsageRequest
) -> GetVelocityControlUsageResponse:
    """How much of a velocity control is used now, and how much is left."""
    organization = reading.organization
    control = organization.record(VelocityControls, request.velocity_control_id)
    measure = measure_of(control)
    id_ = counter_id(control.velocity_control_id, _group(reading, request, control))
    states = await reading.store.attached.counters(organization.id, [id_], reading.now_ms)
    now = ControlReading(
        measure=measure, group="", state=states.get(id_, NOTHING_COUNTED), asked=None, now_ms=reading.now_ms
    )
    return GetVelocityControlUsageResponse(
        used=measure.text(now.used),
        threshold=control.aggregation.threshold,
        remaining=measure.text(now.remaining),
        frees_at=None if now.frees_at_ms is None else rfc3339(now.frees_at_ms),
    )


def _group(reading: Reading, request: GetVelocityControlUsageRequest, control: VelocityControl) -> str:
    by, organization = control.aggregation.group_by, reading.organization
    if by.user is not None:
        user_id = request.user_id or reading.caller.user.user_id
        if user_id not in organization.users:
            raise NotFound(f"unable to find user {user_id} in organization {organization.id}")
        return user_id
    if by.wallet is None:
        return ""
    wallet_id = request.wallet_id
    if wallet_id is None:
        raise InvalidRequest(
            "invalid request: field `walletId`: the control counts for each wallet: name the wallet or private key"
        )
    if wallet_id not in organization.wallets and wallet_id not in organization.private_keys:
        raise NotFound(f"unable to find wallet or private key {wallet_id} in organization {organization.id}")
    return wallet_id
