"""API keys: adding them to a user, deleting and reading them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.errors import NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import ApiKeyParams, ApiKeyParamsV2, QueryRequest, RequestStruct, upgraded_api_key
from keystead.api.records import ApiKey, Timestamp, Wire
from keystead.operations.declare import Reading, activity, older, query
from keystead.operations.users import added_credentials as adding
from keystead.operations.users.new_users import named_user
from keystead.operations.users.sibling_credentials import HeldBySiblings, held_by_siblings
from keystead.organizations.credentials.api_keys import check_public_keys_free, new_api_key, with_api_keys
from keystead.organizations.credentials.credentials import API_KEYS, check_not_held_by_siblings
from keystead.organizations.credentials.removal import without_credentials
from keystead.organizations.kinds.users import Users
from keystead.organizations.organization import Put
from keystead.organizations.users import requested_users
from keystead.pipeline.context import ForeignSource
from keystead.pipeline.execution import Execution, ExecutionWith, Output

AT_ONCE = 20
"""Most API keys that one request may add or delete."""


class CreateApiKeysIntentV2(RequestStruct, frozen=True):
    api_keys: Annotated[tuple[ApiKeyParamsV2, ...], Meta(min_length=1, max_length=AT_ONCE)]
    user_id: Uuid


class CreateApiKeysIntent(RequestStruct, frozen=True):
    api_keys: Annotated[tuple[ApiKeyParams, ...], Meta(min_length=1, max_length=AT_ONCE)]
    user_id: Uuid


class CreateApiKeysResult(Wire, frozen=True):
    api_key_ids: tuple[str, ...]


def _from_v1(intent: CreateApiKeysIntent) -> CreateApiKeysIntentV2:
    return CreateApiKeysIntentV2(api_keys=tuple(map(upgraded_api_key, intent.api_keys)), user_id=intent.user_id)


async def _held_by_siblings(source: ForeignSource, intent: CreateApiKeysIntentV2) -> HeldBySiblings:
    return await held_by_siblings(source, api_keys=intent.api_keys)


@activity(
    "ACTIVITY_TYPE_CREATE_API_KEYS_V2",
    owner=named_user,
    load_context=_held_by_siblings,
    accepts=(older("ACTIVITY_TYPE_CREATE_API_KEYS", _from_v1),),
    adds=lambda _, intent: adding.api_keys(intent.api_keys, intent.user_id),
)
def create_api_keys(
    execution: ExecutionWith[HeldBySiblings], intent: CreateApiKeysIntentV2
) -> Output[CreateApiKeysResult]:
    """Give a user more keys to stamp with."""
    user = execution.organization.record(Users, intent.user_id)
    now = Timestamp.from_ms(execution.now_ms)
    keys = [
        new_api_key(params, execution.new_id(), now, f"parameters.apiKeys[{index}]")
        for index, params in enumerate(intent.api_keys)
    ]
    check_public_keys_free(execution.organization, keys)
    check_not_held_by_siblings(execution.context, [key.credential.public_key for key in keys])
    api_keys = with_api_keys(user.api_keys, keys, execution.limits, execution.now_ms)
    return Output(
        result=CreateApiKeysResult(api_key_ids=tuple(key.api_key_id for key in keys)),
        changes=(Put(replace(user, api_keys=api_keys, updated_at=now)),),
    )


class DeleteApiKeysIntent(RequestStruct, frozen=True):
    user_id: Uuid
    api_key_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=AT_ONCE)]


class DeleteApiKeysResult(Wire, frozen=True):
    api_key_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_API_KEYS", owner=named_user)
def delete_api_keys(execution: Execution, intent: DeleteApiKeysIntent) -> Output[DeleteApiKeysResult]:
    """Delete API keys of a user, who must keep a lasting credential."""
    user, removed = without_credentials(
        execution.organization, intent.user_id, API_KEYS, intent.api_key_ids, execution.now_ms
    )
    return Output(
        result=DeleteApiKeysResult(api_key_ids=removed),
        changes=(Put(user),),
    )


class GetApiKeyRequest(QueryRequest, frozen=True):
    api_key_id: Uuid


class GetApiKeyResponse(Wire, frozen=True):
    api_key: ApiKey


@query()
def get_api_key(reading: Reading, request: GetApiKeyRequest) -> GetApiKeyResponse:
    """One API key."""
    for _, api_key in reading.organization.users.by_public_key.values():
        if api_key.api_key_id == request.api_key_id:
            return GetApiKeyResponse(api_key=api_key)
    raise NotFound(f"unable to find API key {request.api_key_id} in organization {reading.organization.id}")


class GetApiKeysRequest(QueryRequest, frozen=True):
    """Without `user_id`: the keys of every user."""

    user_id: Uuid | None = None


class GetApiKeysResponse(Wire, frozen=True):
    api_keys: tuple[ApiKey, ...]


@query()
def get_api_keys(reading: Reading, request: GetApiKeysRequest) -> GetApiKeysResponse:
    """The API keys of a user, or of the whole organization."""
    users = requested_users(reading.organization, request.user_id)
    return GetApiKeysResponse(api_keys=tuple(key for user in users for key in user.api_keys))
