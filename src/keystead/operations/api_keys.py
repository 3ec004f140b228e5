"""API keys: adding them to a user."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.activities.activity import Execution, Outcome
from keystead.api.identifiers import Uuid
from keystead.api.parameters import ApiKeyParams, ApiKeyParamsV2, Asked, upgraded_api_key
from keystead.api.records import Timestamp, Wire
from keystead.operations.declare import activity, older
from keystead.organizations.credentials import check_public_keys_free, new_api_key, with_api_keys
from keystead.organizations.organization import Put
from keystead.organizations.users import user_named

AT_ONCE = 20
"""Most API keys that one request may add."""


class CreateApiKeysIntentV2(Asked, frozen=True):
    api_keys: Annotated[tuple[ApiKeyParamsV2, ...], Meta(min_length=1, max_length=AT_ONCE)]
    user_id: Uuid


class CreateApiKeysIntent(Asked, frozen=True):
    api_keys: Annotated[tuple[ApiKeyParams, ...], Meta(min_length=1, max_length=AT_ONCE)]
    user_id: Uuid


class CreateApiKeysResult(Wire, frozen=True):
    api_key_ids: tuple[str, ...]


def _from_v1(intent: CreateApiKeysIntent) -> CreateApiKeysIntentV2:
    return CreateApiKeysIntentV2(api_keys=tuple(map(upgraded_api_key, intent.api_keys)), user_id=intent.user_id)


def _owner(intent: CreateApiKeysIntentV2) -> str:
    return intent.user_id


@activity(
    "ACTIVITY_TYPE_CREATE_API_KEYS_V2",
    resource="CREDENTIAL",
    action="CREATE",
    owner=_owner,
    accepts=(older("ACTIVITY_TYPE_CREATE_API_KEYS", _from_v1),),
)
def create_api_keys(execution: Execution, intent: CreateApiKeysIntentV2) -> Outcome[CreateApiKeysResult]:
    """Give a user more keys to stamp with."""
    user = user_named(execution.organization, intent.user_id)
    now = Timestamp.from_ms(execution.now_ms)
    keys = [
        new_api_key(params, execution.new_id(), now, f"parameters.apiKeys[{index}]")
        for index, params in enumerate(intent.api_keys)
    ]
    check_public_keys_free(execution.organization, keys)
    held = with_api_keys(user.api_keys, keys, execution.limits, execution.now_ms)
    return Outcome(
        result=CreateApiKeysResult(api_key_ids=tuple(key.api_key_id for key in keys)),
        changes=(Put(replace(user, api_keys=held, updated_at=now)),),
    )
