"""The parameters of create_sub_organization in every version, and how older versions become the current one.

Not here: the operation (`sub_organizations`).
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import asdict

from keystead.api import parameters
from keystead.api.decoding import Label
from keystead.operations.bounds import ROOT_USERS_MAX
from keystead.operations.logins.verification_tokens import ClientSignature
from keystead.operations.wallets.private_keys import PrivateKeyParams, PrivateKeysParams
from keystead.operations.wallets.wallets import CreateWalletIntent


class RootUserParamsV6(parameters.RequestStruct, frozen=True):
    """`wallet_authenticators`: through an authentication proxy, each needs a verification token."""

    user_name: Label
    api_keys: tuple[parameters.ApiKeyParamsV2, ...]
    authenticators: tuple[parameters.AuthenticatorParamsV2, ...]
    oauth_providers: tuple[parameters.OauthProviderParamsV2, ...]
    user_email: parameters.ShortText | None = None
    user_phone_number: parameters.ShortText | None = None
    wallet_authenticators: tuple[parameters.WalletAuthenticatorParams, ...] = ()


class RootUserParamsV5(parameters.RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[parameters.ApiKeyParamsV2, ...]
    authenticators: tuple[parameters.AuthenticatorParamsV2, ...]
    oauth_providers: tuple[parameters.OauthProviderParamsV2, ...]
    user_email: parameters.ShortText | None = None
    user_phone_number: parameters.ShortText | None = None


class RootUserParamsV4(parameters.RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[parameters.ApiKeyParamsV2, ...]
    authenticators: tuple[parameters.AuthenticatorParamsV2, ...]
    oauth_providers: tuple[parameters.OauthProviderParams, ...]
    user_email: parameters.ShortText | None = None
    user_phone_number: parameters.ShortText | None = None


class RootUserParamsV3(parameters.RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[parameters.ApiKeyParamsV2, ...]
    authenticators: tuple[parameters.AuthenticatorParamsV2, ...]
    oauth_providers: tuple[parameters.OauthProviderParams, ...]
    user_email: parameters.ShortText | None = None


class RootUserParamsV2(parameters.RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[parameters.ApiKeyParams, ...]
    authenticators: tuple[parameters.AuthenticatorParamsV2, ...]
    oauth_providers: tuple[parameters.OauthProviderParams, ...]
    user_email: parameters.ShortText | None = None


Threshold = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class CreateSubOrganizationIntentV9(parameters.RequestStruct, frozen=True):
    """A `disable_…` field that is true turns a feature off. All four features are on by default."""

    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV6, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None
    disable_sms_auth: bool | None = None
    disable_otp_email_auth: bool | None = None
    verification_token: parameters.TokenText | None = None
    client_signature: ClientSignature | None = None


class CreateSubOrganizationIntentV8(parameters.RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV5, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None
    disable_sms_auth: bool | None = None
    disable_otp_email_auth: bool | None = None
    verification_token: parameters.TokenText | None = None
    client_signature: ClientSignature | None = None


class CreateSubOrganizationIntentV7(parameters.RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV4, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None
    disable_sms_auth: bool | None = None
    disable_otp_email_auth: bool | None = None
    verification_token: parameters.TokenText | None = None
    client_signature: ClientSignature | None = None


class CreateSubOrganizationIntentV6(parameters.RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV3, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None


class CreateSubOrganizationIntentV5(parameters.RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV2, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None


class RootUserParams(parameters.RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[parameters.ApiKeyParams, ...]
    authenticators: tuple[parameters.AuthenticatorParamsV2, ...]
    user_email: parameters.ShortText | None = None


RootUsers = Annotated[tuple[RootUserParams, ...], Meta(max_length=ROOT_USERS_MAX)]


class CreateSubOrganizationIntentV4(parameters.RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: RootUsers
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None


class CreateSubOrganizationIntentV3(parameters.RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: RootUsers
    root_quorum_threshold: Threshold
    private_keys: PrivateKeysParams


class CreateSubOrganizationIntentV2(parameters.RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: RootUsers
    root_quorum_threshold: Threshold


class CreateSubOrganizationIntent(parameters.RequestStruct, frozen=True):
    """One root user with this passkey. The request has no other name, so the user gets the name of the passkey."""

    name: Label
    root_authenticator: parameters.AuthenticatorParamsV2


class SubOrganizationWithPrivateKeys(CreateSubOrganizationIntentV9, frozen=True):
    """The third version as the current one. Only the third version also makes private keys."""

    private_keys: tuple[PrivateKeyParams, ...] = ()


class SubOrganizationByAnyToken(CreateSubOrganizationIntentV9, frozen=True):
    """The seventh version as the current one. It also accepts verification tokens without a key."""


def _upgraded_user(
    user: RootUserParamsV5 | RootUserParamsV4 | RootUserParamsV3 | RootUserParamsV2 | RootUserParams,
) -> RootUserParamsV6:
    """A root user of an older version as one of the current version."""
    members = asdict(user)
    members["api_keys"] = tuple(
        parameters.upgraded_api_key(key) if isinstance(key, parameters.ApiKeyParams) else key
        for key in user.api_keys
    )
    members["oauth_providers"] = tuple(
        parameters.upgraded_oauth_provider(provider)
        if isinstance(provider, parameters.OauthProviderParams)
        else provider
        for provider in members.get("oauth_providers", ())
    )
    return RootUserParamsV6(**members)


def _upgraded(
    intent: CreateSubOrganizationIntentV8
    | CreateSubOrganizationIntentV7
    | CreateSubOrganizationIntentV6
    | CreateSubOrganizationIntentV5
    | CreateSubOrganizationIntentV4
    | CreateSubOrganizationIntentV3
    | CreateSubOrganizationIntentV2,
) -> dict[str, Any]:
    """The fields of an older version, with root users of the current version."""
    return {**asdict(intent), "root_users": tuple(map(_upgraded_user, intent.root_users))}


def from_v8(intent: CreateSubOrganizationIntentV8) -> CreateSubOrganizationIntentV9:
    return CreateSubOrganizationIntentV9(**_upgraded(intent))


def from_v7(intent: CreateSubOrganizationIntentV7) -> CreateSubOrganizationIntentV9:
    return SubOrganizationByAnyToken(**_upgraded(intent))


def from_v6(intent: CreateSubOrganizationIntentV6) -> CreateSubOrganizationIntentV9:
    return CreateSubOrganizationIntentV9(**_upgraded(intent))


def from_v5(intent: CreateSubOrganizationIntentV5) -> CreateSubOrganizationIntentV9:
    return CreateSubOrganizationIntentV9(**_upgraded(intent))


def from_v4(intent: CreateSubOrganizationIntentV4) -> CreateSubOrganizationIntentV9:
    return CreateSubOrganizationIntentV9(**_upgraded(intent))


def from_v3(intent: CreateSubOrganizationIntentV3) -> CreateSubOrganizationIntentV9:
    return SubOrganizationWithPrivateKeys(**_upgraded(intent))


def from_v2(intent: CreateSubOrganizationIntentV2) -> CreateSubOrganizationIntentV9:
    return CreateSubOrganizationIntentV9(**_upgraded(intent))


def from_v1(intent: CreateSubOrganizationIntent) -> CreateSubOrganizationIntentV9:
    passkey = intent.root_authenticator
    user = RootUserParamsV6(
        user_name=passkey.authenticator_name, api_keys=(), authenticators=(passkey,), oauth_providers=()
    )
    return CreateSubOrganizationIntentV9(
        sub_organization_name=intent.name, root_users=(user,), root_quorum_threshold=1
    )
