"""The parameters that create_users and create_api_only_users accept, and how older versions become the newest.

Not here: the operations (`users`).
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from keystead.api import parameters
from keystead.api.decoding import Label
from keystead.api.enums import AccessType
from keystead.api.identifiers import Uuid

AT_ONCE = 100
"""Most users that one request may add."""


class UserParamsV4(parameters.RequestStruct, frozen=True):
    """`user_tags` are ids of tags."""

    user_name: Label
    api_keys: tuple[parameters.ApiKeyParamsV2, ...]
    authenticators: tuple[parameters.AuthenticatorParamsV2, ...]
    oauth_providers: tuple[parameters.OauthProviderParamsV2, ...]
    user_tags: tuple[Uuid, ...]
    user_email: parameters.ShortText | None = None
    user_phone_number: parameters.ShortText | None = None


class CreateUsersIntentV4(parameters.RequestStruct, frozen=True):
    users: Annotated[tuple[UserParamsV4, ...], Meta(min_length=1, max_length=AT_ONCE)]


class UserParamsV3(parameters.RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[parameters.ApiKeyParamsV2, ...]
    authenticators: tuple[parameters.AuthenticatorParamsV2, ...]
    oauth_providers: tuple[parameters.OauthProviderParams, ...]
    user_tags: tuple[Uuid, ...]
    user_email: parameters.ShortText | None = None
    user_phone_number: parameters.ShortText | None = None


class CreateUsersIntentV3(parameters.RequestStruct, frozen=True):
    users: Annotated[tuple[UserParamsV3, ...], Meta(min_length=1, max_length=AT_ONCE)]


class UserParamsV2(parameters.RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[parameters.ApiKeyParams, ...]
    authenticators: tuple[parameters.AuthenticatorParamsV2, ...]
    user_tags: tuple[Uuid, ...]
    user_email: parameters.ShortText | None = None


class CreateUsersIntentV2(parameters.RequestStruct, frozen=True):
    users: Annotated[tuple[UserParamsV2, ...], Meta(min_length=1, max_length=AT_ONCE)]


class UserParams(parameters.RequestStruct, frozen=True):
    """`access_type` has no effect: the credentials of a user decide how the user can authenticate."""

    user_name: Label
    access_type: AccessType
    api_keys: tuple[parameters.ApiKeyParams, ...]
    authenticators: tuple[parameters.AuthenticatorParams, ...]
    user_tags: tuple[Uuid, ...]
    user_email: parameters.ShortText | None = None


class CreateUsersIntent(parameters.RequestStruct, frozen=True):
    users: Annotated[tuple[UserParams, ...], Meta(min_length=1, max_length=AT_ONCE)]


def from_v3(intent: CreateUsersIntentV3) -> CreateUsersIntentV4:
    return CreateUsersIntentV4(
        users=tuple(
            UserParamsV4(
                user_name=user.user_name,
                api_keys=user.api_keys,
                authenticators=user.authenticators,
                oauth_providers=tuple(map(parameters.upgraded_oauth_provider, user.oauth_providers)),
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
                api_keys=tuple(map(parameters.upgraded_api_key, user.api_keys)),
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
                api_keys=tuple(map(parameters.upgraded_api_key, user.api_keys)),
                authenticators=tuple(map(parameters.upgraded_authenticator, user.authenticators)),
                oauth_providers=(),
                user_tags=user.user_tags,
                user_email=user.user_email,
            )
            for user in intent.users
        )
    )


class ApiOnlyUserParams(parameters.RequestStruct, frozen=True):
    user_name: Label
    user_tags: tuple[Uuid, ...]
    api_keys: tuple[parameters.ApiKeyParams, ...]
    user_email: parameters.ShortText | None = None


class CreateApiOnlyUsersIntent(parameters.RequestStruct, frozen=True):
    api_only_users: Annotated[tuple[ApiOnlyUserParams, ...], Meta(min_length=1, max_length=AT_ONCE)]
