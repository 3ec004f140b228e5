"""What create_sub_organization is asked for: the current version of its parameters, and how older ones read as it.

Not here: the operation (`sub_organizations`).
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.parameters import (
    ApiKeyParams,
    ApiKeyParamsV2,
    AuthenticatorParamsV2,
    OauthProviderParams,
    OauthProviderParamsV2,
    RequestStruct,
    ShortText,
    Token,
    upgraded_api_key,
    upgraded_oauth_provider,
)
from keystead.operations.private_keys import PrivateKeyParams, PrivateKeysParams
from keystead.operations.verified_contacts import ClientSignature
from keystead.operations.wallets import CreateWalletIntent

ROOT_USERS_MAX = 100
"""Most root users that a sub-organization can be made with."""


class RootUserParamsV5(RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParamsV2, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    oauth_providers: tuple[OauthProviderParamsV2, ...]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None


class RootUserParamsV4(RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParamsV2, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    oauth_providers: tuple[OauthProviderParams, ...]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None


class RootUserParamsV3(RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParamsV2, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    oauth_providers: tuple[OauthProviderParams, ...]
    user_email: ShortText | None = None


class RootUserParamsV2(RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParams, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    oauth_providers: tuple[OauthProviderParams, ...]
    user_email: ShortText | None = None


Threshold = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class CreateSubOrganizationIntentV8(RequestStruct, frozen=True):
    """`disable_…`: the feature is off from the start; all four are on otherwise."""

    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV5, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None
    disable_sms_auth: bool | None = None
    disable_otp_email_auth: bool | None = None
    verification_token: Token | None = None
    client_signature: ClientSignature | None = None


class CreateSubOrganizationIntentV7(RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV4, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None
    disable_sms_auth: bool | None = None
    disable_otp_email_auth: bool | None = None
    verification_token: Token | None = None
    client_signature: ClientSignature | None = None


class CreateSubOrganizationIntentV6(RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV3, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None


class CreateSubOrganizationIntentV5(RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV2, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None


class RootUserParams(RequestStruct, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParams, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    user_email: ShortText | None = None


RootUsers = Annotated[tuple[RootUserParams, ...], Meta(max_length=ROOT_USERS_MAX)]


class CreateSubOrganizationIntentV4(RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: RootUsers
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None


class CreateSubOrganizationIntentV3(RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: RootUsers
    root_quorum_threshold: Threshold
    private_keys: PrivateKeysParams


class CreateSubOrganizationIntentV2(RequestStruct, frozen=True):
    sub_organization_name: Label
    root_users: RootUsers
    root_quorum_threshold: Threshold


class CreateSubOrganizationIntent(RequestStruct, frozen=True):
    """One root user, who has this passkey. The user is called as the passkey is: the request has no other name."""

    name: Label
    root_authenticator: AuthenticatorParamsV2


class SubOrganizationWithPrivateKeys(CreateSubOrganizationIntentV8, frozen=True):
    """What the third version reads as: only it makes private keys too."""

    private_keys: tuple[PrivateKeyParams, ...] = ()


class SubOrganizationByAnyToken(CreateSubOrganizationIntentV8, frozen=True):
    """What the seventh version reads as: it takes verification tokens without a key, too."""


def from_v7(intent: CreateSubOrganizationIntentV7) -> CreateSubOrganizationIntentV8:
    return SubOrganizationByAnyToken(
        sub_organization_name=intent.sub_organization_name,
        root_users=tuple(
            RootUserParamsV5(
                user_name=user.user_name,
                api_keys=user.api_keys,
                authenticators=user.authenticators,
                oauth_providers=tuple(map(upgraded_oauth_provider, user.oauth_providers)),
                user_email=user.user_email,
                user_phone_number=user.user_phone_number,
            )
            for user in intent.root_users
        ),
        root_quorum_threshold=intent.root_quorum_threshold,
        wallet=intent.wallet,
        disable_email_recovery=intent.disable_email_recovery,
        disable_email_auth=intent.disable_email_auth,
        disable_sms_auth=intent.disable_sms_auth,
        disable_otp_email_auth=intent.disable_otp_email_auth,
        verification_token=intent.verification_token,
        client_signature=intent.client_signature,
    )


def from_v6(intent: CreateSubOrganizationIntentV6) -> CreateSubOrganizationIntentV8:
    return CreateSubOrganizationIntentV8(
        sub_organization_name=intent.sub_organization_name,
        root_users=tuple(
            RootUserParamsV5(
                user_name=user.user_name,
                api_keys=user.api_keys,
                authenticators=user.authenticators,
                oauth_providers=tuple(map(upgraded_oauth_provider, user.oauth_providers)),
                user_email=user.user_email,
            )
            for user in intent.root_users
        ),
        root_quorum_threshold=intent.root_quorum_threshold,
        wallet=intent.wallet,
        disable_email_recovery=intent.disable_email_recovery,
        disable_email_auth=intent.disable_email_auth,
    )


def from_v5(intent: CreateSubOrganizationIntentV5) -> CreateSubOrganizationIntentV8:
    return from_v6(
        CreateSubOrganizationIntentV6(
            sub_organization_name=intent.sub_organization_name,
            root_users=tuple(
                RootUserParamsV3(
                    user_name=user.user_name,
                    api_keys=tuple(map(upgraded_api_key, user.api_keys)),
                    authenticators=user.authenticators,
                    oauth_providers=user.oauth_providers,
                    user_email=user.user_email,
                )
                for user in intent.root_users
            ),
            root_quorum_threshold=intent.root_quorum_threshold,
            wallet=intent.wallet,
            disable_email_recovery=intent.disable_email_recovery,
            disable_email_auth=intent.disable_email_auth,
        )
    )


def from_v4(intent: CreateSubOrganizationIntentV4) -> CreateSubOrganizationIntentV8:
    return from_v5(
        CreateSubOrganizationIntentV5(
            sub_organization_name=intent.sub_organization_name,
            root_users=tuple(map(_with_no_oauth_providers, intent.root_users)),
            root_quorum_threshold=intent.root_quorum_threshold,
            wallet=intent.wallet,
            disable_email_recovery=intent.disable_email_recovery,
            disable_email_auth=intent.disable_email_auth,
        )
    )


def _with_no_oauth_providers(user: RootUserParams) -> RootUserParamsV2:
    return RootUserParamsV2(
        user_name=user.user_name,
        api_keys=user.api_keys,
        authenticators=user.authenticators,
        oauth_providers=(),
        user_email=user.user_email,
    )


def from_v3(intent: CreateSubOrganizationIntentV3) -> CreateSubOrganizationIntentV8:
    current = from_v2(
        CreateSubOrganizationIntentV2(
            sub_organization_name=intent.sub_organization_name,
            root_users=intent.root_users,
            root_quorum_threshold=intent.root_quorum_threshold,
        )
    )
    return SubOrganizationWithPrivateKeys(
        sub_organization_name=current.sub_organization_name,
        root_users=current.root_users,
        root_quorum_threshold=current.root_quorum_threshold,
        private_keys=intent.private_keys,
    )


def from_v2(intent: CreateSubOrganizationIntentV2) -> CreateSubOrganizationIntentV8:
    return from_v4(
        CreateSubOrganizationIntentV4(
            sub_organization_name=intent.sub_organization_name,
            root_users=intent.root_users,
            root_quorum_threshold=intent.root_quorum_threshold,
        )
    )


def from_v1(intent: CreateSubOrganizationIntent) -> CreateSubOrganizationIntentV8:
    passkey = intent.root_authenticator
    user = RootUserParamsV5(
        user_name=passkey.authenticator_name, api_keys=(), authenticators=(passkey,), oauth_providers=()
    )
    return CreateSubOrganizationIntentV8(
        sub_organization_name=intent.name, root_users=(user,), root_quorum_threshold=1
    )
