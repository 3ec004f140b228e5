"""Authenticators (passkeys): adding them to a user, deleting and reading them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api import parameters
from keystead.api.errors import NotFound
from keystead.api.identifiers import Uuid
from keystead.api.records import Authenticator, Timestamp, Wire
from keystead.operations.declare import Reading, activity, older, query
from keystead.operations.users import added_credentials as adding
from keystead.operations.users.new_users import named_user
from keystead.operations.users.sibling_credentials import HeldBySiblings, held_by_siblings
from keystead.organizations.credentials.authenticators import (
    check_credential_ids_free,
    check_room_for_authenticators,
    new_authenticator,
)
from keystead.organizations.credentials.credentials import AUTHENTICATORS, check_not_held_by_siblings
from keystead.organizations.credentials.removal import without_credentials
from keystead.organizations.kinds.users import Passkey, Users
from keystead.organizations.organization import Put, Remove
from keystead.pipeline.context import ForeignSource
from keystead.pipeline.execution import Execution, ExecutionWith, Output

AT_ONCE = 10
"""Most authenticators that one request may add or delete."""


class CreateAuthenticatorsIntentV2(parameters.RequestStruct, frozen=True):
    authenticators: Annotated[tuple[parameters.AuthenticatorParamsV2, ...], Meta(min_length=1, max_length=AT_ONCE)]
    user_id: Uuid


class CreateAuthenticatorsIntent(parameters.RequestStruct, frozen=True):
    authenticators: Annotated[tuple[parameters.AuthenticatorParams, ...], Meta(min_length=1, max_length=AT_ONCE)]
    user_id: Uuid


class CreateAuthenticatorsResult(Wire, frozen=True):
    authenticator_ids: tuple[str, ...]


def _from_v1(intent: CreateAuthenticatorsIntent) -> CreateAuthenticatorsIntentV2:
    return CreateAuthenticatorsIntentV2(
        authenticators=tuple(map(parameters.upgraded_authenticator, intent.authenticators)), user_id=intent.user_id
    )


async def _held_by_siblings(source: ForeignSource, intent: CreateAuthenticatorsIntentV2) -> HeldBySiblings:
    return await held_by_siblings(source, authenticators=intent.authenticators)


@activity(
    "ACTIVITY_TYPE_CREATE_AUTHENTICATORS_V2",
    owner=named_user,
    load_context=_held_by_siblings,
    accepts=(older("ACTIVITY_TYPE_CREATE_AUTHENTICATORS", _from_v1),),
    adds=lambda _, intent: adding.authenticators(intent.authenticators, intent.user_id),
)
def create_authenticators(
    execution: ExecutionWith[HeldBySiblings], intent: CreateAuthenticatorsIntentV2
) -> Output[CreateAuthenticatorsResult]:
    """Give a user more passkeys, each with its attestation."""
    user = execution.organization.record(Users, intent.user_id)
    now = Timestamp.from_ms(execution.now_ms)
    check_room_for_authenticators(len(user.authenticators), len(intent.authenticators), execution.limits)
    registered = [
        new_authenticator(params, execution.new_id(), now, f"parameters.authenticators[{index}]")
        for index, params in enumerate(intent.authenticators)
    ]
    added = [authenticator for authenticator, _ in registered]
    check_credential_ids_free(execution.organization, added)
    check_not_held_by_siblings(execution.context, [authenticator.credential_id for authenticator in added])
    return Output(
        result=CreateAuthenticatorsResult(
            authenticator_ids=tuple(authenticator.authenticator_id for authenticator in added)
        ),
        changes=(
            Put(replace(user, authenticators=(*user.authenticators, *added), updated_at=now)),
            *(Put(passkey) for _, passkey in registered),
        ),
    )


class GetAuthenticatorRequest(parameters.QueryRequest, frozen=True):
    authenticator_id: Uuid


class GetAuthenticatorResponse(Wire, frozen=True):
    authenticator: Authenticator


@query()
def get_authenticator(reading: Reading, request: GetAuthenticatorRequest) -> GetAuthenticatorResponse:
    """One authenticator."""
    authenticator = reading.organization.users.authenticators.get(request.authenticator_id)
    if authenticator is None:
        raise NotFound(
            f"unable to find authenticator {request.authenticator_id} in organization {reading.organization.id}"
        )
    return GetAuthenticatorResponse(authenticator=authenticator)


class DeleteAuthenticatorsIntent(parameters.RequestStruct, frozen=True):
    user_id: Uuid
    authenticator_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=AT_ONCE)]


class DeleteAuthenticatorsResult(Wire, frozen=True):
    authenticator_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_AUTHENTICATORS", owner=named_user)
def delete_authenticators(
    execution: Execution, intent: DeleteAuthenticatorsIntent
) -> Output[DeleteAuthenticatorsResult]:
    """Delete passkeys of a user, who must keep a lasting credential."""
    user, removed = without_credentials(
        execution.organization, intent.user_id, AUTHENTICATORS, intent.authenticator_ids, execution.now_ms
    )
    return Output(
        result=DeleteAuthenticatorsResult(authenticator_ids=removed),
        changes=(Put(user), *(Remove(Passkey, authenticator_id) for authenticator_id in removed)),
    )


class GetAuthenticatorsRequest(parameters.QueryRequest, frozen=True):
    user_id: Uuid


class GetAuthenticatorsResponse(Wire, frozen=True):
    authenticators: tuple[Authenticator, ...]


@query()
def get_authenticators(reading: Reading, request: GetAuthenticatorsRequest) -> GetAuthenticatorsResponse:
    """The authenticators of a user."""
    return GetAuthenticatorsResponse(
        authenticators=reading.organization.record(Users, request.user_id).authenticators
    )
