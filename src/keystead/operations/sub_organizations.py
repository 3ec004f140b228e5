"""Sub-organizations: making one with its root users and perhaps a wallet, and deleting oneself."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from keystead.api.enums import FeatureName, OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import RequestStruct
from keystead.api.records import Timestamp, Wire
from keystead.operations.declare import activity, older
from keystead.operations.private_keys import CreatePrivateKeysIntentV2, PrivateKeyResult, create_private_keys
from keystead.operations.sibling_credentials import HeldBySiblings, held_by_suborganizations
from keystead.operations.starting_codes import normalized
from keystead.operations.sub_organization_intents import (
    CreateSubOrganizationIntentV8,
    SubOrganizationByAnyToken,
    SubOrganizationWithPrivateKeys,
    from_v1,
    from_v2,
    from_v3,
    from_v4,
    from_v5,
    from_v6,
    from_v7,
)
from keystead.operations.users import UserParamsV4, added_users, tokens_of_users
from keystead.operations.verified_contacts import (
    TOKEN_FIELD,
    check_signup,
    is_used_up,
    proven_token,
    used_up,
)
from keystead.operations.wallets import CreateWalletResult, create_wallet
from keystead.organizations.attachments import Attachment, RemovedOrganizationContents
from keystead.organizations.google_accounts import client_ids_of, google_email_verified
from keystead.organizations.governance import deletion_changes, new_quorum
from keystead.organizations.kinds.data_key import SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Put, Version, apply, from_records
from keystead.organizations.verified_contacts import contact_verified
from keystead.pipeline.activity import Execution, ExecutionWith, NewOrganization, Outcome
from keystead.pipeline.context import ContextSource
from keystead.sessions.verification_tokens import VerificationToken


class CreateSubOrganizationResultV8(Wire, frozen=True):
    sub_organization_id: str
    root_user_ids: tuple[str, ...]
    wallet: CreateWalletResult | None = None


class CreateSubOrganizationResultV3(Wire, frozen=True):
    sub_organization_id: str
    private_keys: tuple[PrivateKeyResult, ...]
    root_user_ids: tuple[str, ...]


class ResultWithPrivateKeys(CreateSubOrganizationResultV8, frozen=True):
    """Of the third version of the parameters; `_as_v3` makes its result of this."""

    private_keys: tuple[PrivateKeyResult, ...] = ()


def _as_v3(result: CreateSubOrganizationResultV8) -> CreateSubOrganizationResultV3:
    assert isinstance(result, ResultWithPrivateKeys)
    return CreateSubOrganizationResultV3(
        sub_organization_id=result.sub_organization_id,
        private_keys=result.private_keys,
        root_user_ids=result.root_user_ids,
    )


_FIELD = "parameters.rootUsers"


class SignUpContext(msgspec.Struct, frozen=True):
    """`held_by_siblings`: credentials of the request that other sub-organizations have. `is_used_up`: the
    verification token is good for one use, and was used; or the signed message was."""

    held_by_siblings: HeldBySiblings
    is_used_up: bool


async def _sign_up_context(source: ContextSource, intent: CreateSubOrganizationIntentV8) -> SignUpContext:
    return SignUpContext(
        held_by_siblings=await _held_by_others(source, intent),
        is_used_up=await is_used_up(source, intent.verification_token, intent.client_signature),
    )


async def _held_by_others(source: ContextSource, intent: CreateSubOrganizationIntentV8) -> HeldBySiblings:
    """Of a sign-up through an authentication proxy, which passes on what anybody sends; a user of the parent may
    give one credential to several sub-organizations."""
    if source.submitter_id not in source.organization.auth_proxies:
        return frozenset()
    return await held_by_suborganizations(
        source.store,
        source.organization.id,
        api_keys=[key for user in intent.root_users for key in user.api_keys],
        authenticators=[one for user in intent.root_users for one in user.authenticators],
    )


def _tokens(intent: CreateSubOrganizationIntentV8) -> dict[str, str]:
    return tokens_of_users([user.oauth_providers for user in intent.root_users], _FIELD)


@activity(
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8",
    oidc_tokens=_tokens,
    load_context=_sign_up_context,
    context_is_own=False,
    changes_organization=False,
    accepts=(
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7", from_v7, result_key="createSubOrganizationResultV7"),
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V6", from_v6, result_key="createSubOrganizationResultV6"),
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V5", from_v5, result_key="createSubOrganizationResultV5"),
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V4", from_v4, result_key="createSubOrganizationResultV4"),
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V3", from_v3, result=_as_v3),
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V2", from_v2, result_key="createSubOrganizationResult"),
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION", from_v1, result_key="createSubOrganizationResult"),
    ),
)
async def create_sub_organization(
    execution: ExecutionWith[SignUpContext], intent: CreateSubOrganizationIntentV8
) -> Outcome[CreateSubOrganizationResultV8]:
    """Make a sub-organization with its root users, its root quorum and perhaps a wallet."""
    parent = execution.organization
    if parent.profile.parent_id is not None:
        raise InvalidRequest(
            "activity not callable by sub-organizations: a sub-organization has none of its own",
            machine_code="INVALID_ACTIVITY_CALLER",
        )
    token = await _token(execution, intent)
    verified = None if token is None else _verified_user(token, intent)
    organization_id = execution.new_id()
    profile = Profile(
        name=intent.sub_organization_name,
        root_quorum=RootQuorum(1, ()),  # until its users have ids, below
        created_at=Timestamp.from_ms(execution.now_ms),
        parent_id=parent.id,
        features=_features(intent),
    )
    data_key = SealedDataKey(await execution.signer.new_data_key(organization_id))
    version = Version(1, execution.new_id())
    organization = from_records(organization_id, version, [profile, data_key])
    requested = [
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
    # An authentication proxy passes on what anybody claims, so it vouches for nothing.
    is_proxied = execution.submitter_id in parent.auth_proxies
    users, changes = await added_users(
        replace(execution, organization=organization),
        requested,
        _FIELD,
        held_by_siblings=execution.context.held_by_siblings,
        by_parent=not is_proxied,
    )
    user_ids = tuple(user.user_id for user in users)
    quorum = new_quorum(user_ids, intent.root_quorum_threshold, user_ids, "parameters.rootQuorum")
    organization = apply(organization, (*changes, Put(replace(organization.profile, root_quorum=quorum))), version)
    if token is not None and verified is not None:
        organization = apply(organization, contact_verified(organization, users[verified], token.otp_type), version)
    for index, user in enumerate(users):
        of_user = [one for field, one in execution.identities.items() if field.startswith(f"{_FIELD}[{index}].")]
        client_ids = client_ids_of(parent) if is_proxied else None
        by_google = google_email_verified(organization, user, of_user, client_ids)
        organization = apply(organization, by_google, version)
    made: Outcome[CreateWalletResult] | None = None
    attachments: tuple[Attachment, ...] = ()
    if intent.wallet is not None:
        made = await create_wallet(replace(execution, organization=organization), intent.wallet)
        organization, attachments = apply(organization, made.changes, version), made.attachments
    result = CreateSubOrganizationResultV8(
        sub_organization_id=organization_id, wallet=made.result if made else None, root_user_ids=user_ids
    )
    if isinstance(intent, SubOrganizationWithPrivateKeys):
        keys = await create_private_keys(
            replace(execution, organization=organization),
            CreatePrivateKeysIntentV2(private_keys=intent.private_keys),
        )
        organization, attachments = apply(organization, keys.changes, version), keys.attachments
        result = ResultWithPrivateKeys(
            sub_organization_id=organization_id,
            root_user_ids=user_ids,
            private_keys=keys.result.private_keys,
        )
    return Outcome(
        result=result,
        new_organization=NewOrganization(organization, attachments, shares_credentials=not is_proxied),
        attachments=() if token is None else used_up(token, intent.client_signature),
        derived=made.derived if made else (),
    )


async def _token(
    execution: ExecutionWith[SignUpContext], intent: CreateSubOrganizationIntentV8
) -> VerificationToken | None:
    """What the request's verification token states. Raises InvalidRequest."""
    if not intent.verification_token:
        return None
    token = await proven_token(execution, intent.verification_token, is_used_up=execution.context.is_used_up)
    if token.public_key is None and not isinstance(intent, SubOrganizationByAnyToken):
        raise InvalidRequest(
            f"invalid verification token: field `{TOKEN_FIELD}`: it names no key: this version takes a token of "
            "verify_otp with encryptedOtpBundle or publicKey"
        )
    return token


def _verified_user(token: VerificationToken, intent: CreateSubOrganizationIntentV8) -> int:
    """Which of the root users has the contact that the token proves; its key must confirm what that user gets.

    Raises InvalidRequest.
    """
    for index, user in enumerate(intent.root_users):
        contact = user.user_email if token.otp_type is OtpType.EMAIL else user.user_phone_number
        if contact and normalized(token.otp_type, contact) == token.contact:
            check_signup(token, intent.client_signature, user)
            return index
    raise InvalidRequest(
        f"invalid verification token: field `{TOKEN_FIELD}`: no user in `{_FIELD}` has the contact that it proves"
    )


def _features(intent: CreateSubOrganizationIntentV8) -> dict[str, str]:
    disabled = {
        FeatureName.EMAIL_RECOVERY: intent.disable_email_recovery,
        FeatureName.EMAIL_AUTH: intent.disable_email_auth,
        FeatureName.SMS_AUTH: intent.disable_sms_auth,
        FeatureName.OTP_EMAIL_AUTH: intent.disable_otp_email_auth,
    }
    return {feature.value: "" for feature, is_off in disabled.items() if not is_off}


class DeleteSubOrganizationIntent(RequestStruct, frozen=True):
    """Without `delete_without_export`, every wallet must have been exported."""

    delete_without_export: bool | None = None


class DeleteSubOrganizationResult(Wire, frozen=True):
    sub_organization_uuid: str


@activity("ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION")
def delete_sub_organization(
    execution: Execution, intent: DeleteSubOrganizationIntent
) -> Outcome[DeleteSubOrganizationResult]:
    """Delete the sub-organization in which this is submitted, with everything in it."""
    organization = execution.organization
    return Outcome(
        result=DeleteSubOrganizationResult(sub_organization_uuid=organization.id),
        changes=deletion_changes(organization, without_export=bool(intent.delete_without_export)),
        attachments=(RemovedOrganizationContents(),),
    )
