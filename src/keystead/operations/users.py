"""Users: adding them, and reading them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import AccessType, TagType
from keystead.api.identifiers import Uuid
from keystead.api.parameters import (
    ApiKeyParams,
    ApiKeyParamsV2,
    AuthenticatorParams,
    AuthenticatorParamsV2,
    OauthProviderParams,
    OauthProviderParamsV2,
    QueryRequest,
    RequestStruct,
    ShortText,
    upgraded_api_key,
    upgraded_authenticator,
    upgraded_oauth_provider,
)
from keystead.api.records import Timestamp, User, Wire
from keystead.operations.declare import Reading, activity, older, query
from keystead.operations.sibling_credentials import HeldBySiblings, held_by_siblings
from keystead.organizations.contacts import check_email, check_phone_number
from keystead.organizations.credentials import (
    check_credential_ids_free,
    check_identities_free,
    check_not_held_by_siblings,
    check_public_keys_free,
    check_room_for_authenticators,
    new_api_key,
    new_authenticator,
    new_oauth_providers,
    tokens_of,
    with_api_keys,
    with_oauth_providers,
)
from keystead.organizations.kinds.passkeys import Passkey
from keystead.organizations.organization import Change, Put
from keystead.organizations.tags import check_tags
from keystead.organizations.users import check_credential, user_named
from keystead.pipeline.activity import Execution, ExecutionWith, Outcome
from keystead.pipeline.context import ContextSource

AT_ONCE = 100
"""Most users that one request may add."""


class UserParamsV4(RequestStruct, frozen=True):
    """`user_tags` are ids of tags."""

    user_name: Label
    api_keys: tuple[ApiKeyParamsV2, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    oauth_providers: tuple[OauthProviderParamsV2, ...]
    user_tags: tuple[Uuid, ...]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None


class CreateUsersIntentV4(RequestStruct, frozen=True):
    users: Annotated[tuple[UserParamsV4, ...], Meta(min_length=1, max_length=AT_ONCE)]


class CreateUsersResult(Wire, frozen=True):
    user_ids: tuple[str, ...]


class UserParamsV3(RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParamsV2, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    oauth_providers: tuple[OauthProviderParams, ...]
    user_tags: tuple[Uuid, ...]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None


class CreateUsersIntentV3(RequestStruct, frozen=True):
    users: Annotated[tuple[UserParamsV3, ...], Meta(min_length=1, max_length=AT_ONCE)]


class UserParamsV2(RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParams, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    user_tags: tuple[Uuid, ...]
    user_email: ShortText | None = None


class CreateUsersIntentV2(RequestStruct, frozen=True):
    users: Annotated[tuple[UserParamsV2, ...], Meta(min_length=1, max_length=AT_ONCE)]


class UserParams(RequestStruct, frozen=True):
    """`access_type` has no effect: the credentials of a user decide how the user can authenticate."""

    user_name: Label
    access_type: AccessType
    api_keys: tuple[ApiKeyParams, ...]
    authenticators: tuple[AuthenticatorParams, ...]
    user_tags: tuple[Uuid, ...]
    user_email: ShortText | None = None


class CreateUsersIntent(RequestStruct, frozen=True):
    users: Annotated[tuple[UserParams, ...], Meta(min_length=1, max_length=AT_ONCE)]


def _from_v3(intent: CreateUsersIntentV3) -> CreateUsersIntentV4:
    return CreateUsersIntentV4(
        users=tuple(
            UserParamsV4(
                user_name=user.user_name,
                api_keys=user.api_keys,
                authenticators=user.authenticators,
                oauth_providers=tuple(map(upgraded_oauth_provider, user.oauth_providers)),
                user_tags=user.user_tags,
                user_email=user.user_email,
                user_phone_number=user.user_phone_number,
            )
            for user in intent.users
        )
    )


def _from_v2(intent: CreateUsersIntentV2) -> CreateUsersIntentV4:
    return CreateUsersIntentV4(
        users=tuple(
            UserParamsV4(
                user_name=user.user_name,
                api_keys=tuple(map(upgraded_api_key, user.api_keys)),
                authenticators=user.authenticators,
                oauth_providers=(),
                user_tags=user.user_tags,
                user_email=user.user_email,
            )
            for user in intent.users
        )
    )


def _from_v1(intent: CreateUsersIntent) -> CreateUsersIntentV4:
    return CreateUsersIntentV4(
        users=tuple(
            UserParamsV4(
                user_name=user.user_name,
                api_keys=tuple(map(upgraded_api_key, user.api_keys)),
                authenticators=tuple(map(upgraded_authenticator, user.authenticators)),
                oauth_providers=(),
                user_tags=user.user_tags,
                user_email=user.user_email,
            )
            for user in intent.users
        )
    )


_FIELD = "parameters.users"


def _tokens(intent: CreateUsersIntentV4) -> dict[str, str]:
    return tokens_of_users([user.oauth_providers for user in intent.users], _FIELD)


def tokens_of_users(providers: Sequence[Sequence[OauthProviderParamsV2]], field: str) -> dict[str, str]:
    """The ID tokens among the providers of each user, by the field that has each."""
    return {
        place: token
        for index, of_user in enumerate(providers)
        for place, token in tokens_of(of_user, f"{field}[{index}].oauthProviders").items()
    }


async def _held_by_siblings(source: ContextSource, intent: CreateUsersIntentV4) -> HeldBySiblings:
    return await held_by_siblings(
        source,
        api_keys=[key for user in intent.users for key in user.api_keys],
        authenticators=[one for user in intent.users for one in user.authenticators],
    )


@activity(
    "ACTIVITY_TYPE_CREATE_USERS_V4",
    oidc_tokens=_tokens,
    load_context=_held_by_siblings,
    context_is_own=False,
    accepts=(
        older("ACTIVITY_TYPE_CREATE_USERS_V3", _from_v3),
        older("ACTIVITY_TYPE_CREATE_USERS_V2", _from_v2),
        older("ACTIVITY_TYPE_CREATE_USERS", _from_v1),
    ),
)
async def create_users(
    execution: ExecutionWith[HeldBySiblings], intent: CreateUsersIntentV4
) -> Outcome[CreateUsersResult]:
    """Add users, each with at least one lasting credential."""
    users, changes = await added_users(execution, intent.users, _FIELD, held_by_siblings=execution.context)
    return Outcome(result=CreateUsersResult(user_ids=tuple(user.user_id for user in users)), changes=changes)


class ApiOnlyUserParams(RequestStruct, frozen=True):
    user_name: Label
    user_tags: tuple[Uuid, ...]
    api_keys: tuple[ApiKeyParams, ...]
    user_email: ShortText | None = None


class CreateApiOnlyUsersIntent(RequestStruct, frozen=True):
    api_only_users: Annotated[tuple[ApiOnlyUserParams, ...], Meta(min_length=1, max_length=AT_ONCE)]


class CreateApiOnlyUsersResult(Wire, frozen=True):
    user_ids: tuple[str, ...]


async def _api_keys_held_by_siblings(source: ContextSource, intent: CreateApiOnlyUsersIntent) -> HeldBySiblings:
    keys = [upgraded_api_key(key) for user in intent.api_only_users for key in user.api_keys]
    return await held_by_siblings(source, api_keys=keys)


@activity("ACTIVITY_TYPE_CREATE_API_ONLY_USERS", load_context=_api_keys_held_by_siblings, context_is_own=False)
async def create_api_only_users(
    execution: ExecutionWith[HeldBySiblings], intent: CreateApiOnlyUsersIntent
) -> Outcome[CreateApiOnlyUsersResult]:
    """Add users who have API keys only. An older form of create_users."""
    requested = [
        UserParamsV4(
            user_name=user.user_name,
            api_keys=tuple(map(upgraded_api_key, user.api_keys)),
            authenticators=(),
            oauth_providers=(),
            user_tags=user.user_tags,
            user_email=user.user_email,
        )
        for user in intent.api_only_users
    ]
    users, changes = await added_users(
        execution, requested, "parameters.apiOnlyUsers", held_by_siblings=execution.context
    )
    return Outcome(result=CreateApiOnlyUsersResult(user_ids=tuple(user.user_id for user in users)), changes=changes)


async def added_users(
    execution: Execution,
    requested: Sequence[UserParamsV4],
    field: str,
    *,
    held_by_siblings: HeldBySiblings = frozenset(),
    by_parent: bool = False,
) -> tuple[list[User], tuple[Change, ...]]:
    """The requested users, and the changes that add them. Raises InvalidRequest, NotFound, LimitReached.

    Other requests run between one user and the next, because passkeys take long to verify.
    `by_parent`: the caller is a user of the parent, who makes the sub-organization.
    """
    organization = execution.organization
    organization.users.check_limit(len(requested), execution.limits)
    passkeys_in_all = sum(len(user.authenticators) for user in requested)
    added = []
    for index, params in enumerate(requested):
        async with execution.long_work.verifying(organization.id, passkeys_in_all):
            added.append(_new_user(execution, params, f"{field}[{index}]", by_parent=by_parent))
    users = [user for user, _ in added]
    keys = [key for user in users for key in user.api_keys]
    authenticators = [authenticator for user in users for authenticator in user.authenticators]
    check_public_keys_free(organization, keys)
    check_credential_ids_free(organization, authenticators)
    check_not_held_by_siblings(held_by_siblings, [key.credential.public_key for key in keys])
    check_not_held_by_siblings(held_by_siblings, [one.credential_id for one in authenticators])
    check_identities_free(organization, [provider for user in users for provider in user.oauth_providers])
    passkeys = [passkey for _, held in added for passkey in held]
    return users, (*map(Put, users), *map(Put, passkeys))


def _new_user(
    execution: Execution, params: UserParamsV4, field: str, *, by_parent: bool
) -> tuple[User, list[Passkey]]:
    now, limits, new_id = Timestamp.from_ms(execution.now_ms), execution.limits, execution.new_id
    check_room_for_authenticators(0, len(params.authenticators), limits)
    keys = [new_api_key(key, new_id(), now, f"{field}.apiKeys[{i}]") for i, key in enumerate(params.api_keys)]
    registered = [
        new_authenticator(passkey, new_id(), now, f"{field}.authenticators[{i}]")
        for i, passkey in enumerate(params.authenticators)
    ]
    providers = new_oauth_providers(
        params.oauth_providers,
        execution.identities,
        new_id,
        now,
        f"{field}.oauthProviders",
        claims_vouched=by_parent,
    )
    user = User(
        user_id=new_id(),
        user_name=params.user_name,
        authenticators=tuple(authenticator for authenticator, _ in registered),
        api_keys=with_api_keys((), keys, limits, execution.now_ms),
        user_tags=tuple(dict.fromkeys(params.user_tags)),
        oauth_providers=with_oauth_providers((), providers, limits),
        mfa_policies=(),
        created_at=now,
        updated_at=now,
        user_email=check_email(params.user_email, f"{field}.userEmail") if params.user_email else None,
        user_phone_number=check_phone_number(params.user_phone_number, f"{field}.userPhoneNumber")
        if params.user_phone_number
        else None,
    )
    check_credential(user, execution.organization, field)
    check_tags(execution.organization, TagType.USER, user.user_tags, f"{field}.userTags")
    return user, [passkey for _, passkey in registered]


class GetUserRequest(QueryRequest, frozen=True):
    user_id: Uuid


class GetUserResponse(Wire, frozen=True):
    user: User


@query()
def get_user(reading: Reading, request: GetUserRequest) -> GetUserResponse:
    """One user with all credentials."""
    return GetUserResponse(user=user_named(reading.organization, request.user_id))


class ListUsersRequest(QueryRequest, frozen=True):
    pass


class ListUsersResponse(Wire, frozen=True):
    users: tuple[User, ...]


@query(of_version=True)
def list_users(reading: Reading, _: ListUsersRequest) -> ListUsersResponse:
    """All users of the organization."""
    return ListUsersResponse(users=tuple(reading.organization.users.in_order()))
