"""Sub-organizations: making one with its root users and perhaps a wallet, and deleting oneself."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import Label
from keystead.api.enums import FeatureName
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import (
    ApiKeyParams,
    ApiKeyParamsV2,
    Asked,
    AuthenticatorParamsV2,
    OauthProviderParams,
    OauthProviderParamsV2,
    ShortText,
    Token,
    upgraded_api_key,
    upgraded_oauth_provider,
)
from keystead.api.records import Timestamp, Wire
from keystead.operations.declare import activity, older
from keystead.operations.users import UserParamsV4, added_users, tokens_of_users
from keystead.operations.wallets import CreateWalletIntent, CreateWalletResult, create_wallet
from keystead.organizations.attachments import Attachment, Dissolution
from keystead.organizations.governance import dissolved, new_quorum
from keystead.organizations.kinds.data_key import DataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Put, Version, apply, from_records
from keystead.organizations.users import refuse_verification
from keystead.pipeline.activity import Execution, NewOrganization, Outcome

ROOT_USERS_MAX = 100
"""Most root users that a sub-organization can be made with."""


class RootUserParamsV5(Asked, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParamsV2, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    oauth_providers: tuple[OauthProviderParamsV2, ...]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None


class RootUserParamsV4(Asked, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParamsV2, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    oauth_providers: tuple[OauthProviderParams, ...]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None


class RootUserParamsV3(Asked, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParamsV2, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    oauth_providers: tuple[OauthProviderParams, ...]
    user_email: ShortText | None = None


class RootUserParamsV2(Asked, frozen=True):
    user_name: Label
    api_keys: tuple[ApiKeyParams, ...]
    authenticators: tuple[AuthenticatorParamsV2, ...]
    oauth_providers: tuple[OauthProviderParams, ...]
    user_email: ShortText | None = None


class ClientSignature(Asked, frozen=True):
    public_key: ShortText
    scheme: ShortText
    message: Token
    signature: ShortText


Threshold = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class CreateSubOrganizationIntentV8(Asked, frozen=True):
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


class CreateSubOrganizationIntentV7(Asked, frozen=True):
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


class CreateSubOrganizationIntentV6(Asked, frozen=True):
    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV3, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None


class CreateSubOrganizationIntentV5(Asked, frozen=True):
    sub_organization_name: Label
    root_users: Annotated[tuple[RootUserParamsV2, ...], Meta(max_length=ROOT_USERS_MAX)]
    root_quorum_threshold: Threshold
    wallet: CreateWalletIntent | None = None
    disable_email_recovery: bool | None = None
    disable_email_auth: bool | None = None


class CreateSubOrganizationResultV8(Wire, frozen=True):
    sub_organization_id: str
    root_user_ids: tuple[str, ...]
    wallet: CreateWalletResult | None = None


def _from_v7(intent: CreateSubOrganizationIntentV7) -> CreateSubOrganizationIntentV8:
    return CreateSubOrganizationIntentV8(
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


def _from_v6(intent: CreateSubOrganizationIntentV6) -> CreateSubOrganizationIntentV8:
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


def _from_v5(intent: CreateSubOrganizationIntentV5) -> CreateSubOrganizationIntentV8:
    return _from_v6(
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


_FIELD = "parameters.rootUsers"


def _tokens(intent: CreateSubOrganizationIntentV8) -> dict[str, str]:
    return tokens_of_users([user.oauth_providers for user in intent.root_users], _FIELD)


@activity(
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8",
    oidc_tokens=_tokens,
    accepts=(
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7", _from_v7, result_key="createSubOrganizationResultV7"),
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V6", _from_v6, result_key="createSubOrganizationResultV6"),
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V5", _from_v5, result_key="createSubOrganizationResultV5"),
    ),
)
async def create_sub_organization(
    execution: Execution, intent: CreateSubOrganizationIntentV8
) -> Outcome[CreateSubOrganizationResultV8]:
    """Make a sub-organization with its root users, its root quorum and perhaps a wallet."""
    parent = execution.organization
    if parent.profile.parent_id is not None:
        raise InvalidRequest(
            "activity not callable by sub-organizations: a sub-organization has none of its own",
            machine_code="INVALID_ACTIVITY_CALLER",
        )
    refuse_verification(intent.verification_token)
    organization_id = execution.new_id()
    profile = Profile(
        name=intent.sub_organization_name,
        root_quorum=RootQuorum(1, ()),  # until its users have ids, below
        created_at=Timestamp.from_ms(execution.now_ms),
        parent_id=parent.id,
        features=_features(intent),
    )
    data_key = DataKey(await execution.signer.new_data_key(organization_id))
    version = Version(1, execution.new_id())
    organization = from_records(organization_id, version, [profile, data_key])
    asked = [
        UserParamsV4(
            user_name=user.user_name,
            api_keys=user.api_keys,
            authenticators=user.authenticators,
            oauth_providers=user.oauth_providers,
            user_tags=(),
            user_email=user.user_email,
            user_phone_number=user.user_phone_number,
        )
        for user in intent.root_users
    ]
    users, changes = added_users(replace(execution, organization=organization), asked, _FIELD, by_parent=True)
    user_ids = tuple(user.user_id for user in users)
    quorum = new_quorum(user_ids, intent.root_quorum_threshold, user_ids, "parameters.rootQuorum")
    organization = apply(organization, (*changes, Put(replace(organization.profile, root_quorum=quorum))), version)
    made: Outcome[CreateWalletResult] | None = None
    attachments: tuple[Attachment, ...] = ()
    if intent.wallet is not None:
        made = await create_wallet(replace(execution, organization=organization), intent.wallet)
        organization, attachments = apply(organization, made.changes, version), made.attachments
    return Outcome(
        result=CreateSubOrganizationResultV8(
            sub_organization_id=organization_id,
            wallet=made.result if made else None,
            root_user_ids=user_ids,
        ),
        founds=NewOrganization(organization, attachments),
        derived=made.derived if made else (),
    )


def _features(intent: CreateSubOrganizationIntentV8) -> dict[str, str]:
    disabled = {
        FeatureName.EMAIL_RECOVERY: intent.disable_email_recovery,
        FeatureName.EMAIL_AUTH: intent.disable_email_auth,
        FeatureName.SMS_AUTH: intent.disable_sms_auth,
        FeatureName.OTP_EMAIL_AUTH: intent.disable_otp_email_auth,
    }
    return {feature.value: "" for feature, is_off in disabled.items() if not is_off}


class DeleteSubOrganizationIntent(Asked, frozen=True):
    """Without `delete_without_export`, every wallet must have been exported."""

    delete_without_export: bool | None = None


class DeleteSubOrganizationResult(Wire, frozen=True):
    sub_organization_uuid: str


@activity("ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION")
def delete_sub_organization(
    execution: Execution, intent: DeleteSubOrganizationIntent
) -> Outcome[DeleteSubOrganizationResult]:
    """Delete the sub-organization that this is submitted in, with everything it holds."""
    organization = execution.organization
    return Outcome(
        result=DeleteSubOrganizationResult(sub_organization_uuid=organization.id),
        changes=dissolved(organization, without_export=bool(intent.delete_without_export)),
        attachments=(Dissolution(),),
    )
