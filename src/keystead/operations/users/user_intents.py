"""The parameters that create_users and create_api_only_users accept, and how older versions become the newest.

Not here: the operations (`users`).
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import AccessType
from keystead.api.identifiers import Uuid
from keystead.api.parameters import (
    ApiKeyParams,
    ApiKeyParamsV2,
    AuthenticatorParams,
    AuthenticatorParamsV2,
    OauthProviderParams,
    OauthProviderParamsV2,
    RequestStruct,
    ShortText,
    upgraded_api_key,
    upgraded_authenticator,
    upgraded_oauth_provider,
)

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


def from_v3(intent: CreateUsersIntentV3) -> CreateUsersIntentV4:
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


def from_v2(intent: CreateUsersIntentV2) -> CreateUsersIntentV4:
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


def from_v1(intent: CreateUsersIntent) -> CreateUsersIntentV4:
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


class ApiOnlyUserParams(RequestStruct, frozen=True):
    user_name: Label
    user_tags: tuple[Uuid, ...]
    api_keys: tuple[ApiKeyParams, ...]
    user_email: ShortText | None = None


class CreateApiOnlyUsersIntent(RequestStruct, frozen=True):
    api_only_users: Annotated[tuple[ApiOnlyUserParams, ...], Meta(min_length=1, max_length=AT_ONCE)]
