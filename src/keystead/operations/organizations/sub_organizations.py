"""Sub-organizations: creating one with its root users, and deleting the one in which this is submitted.

Not here: the parameters in each version (`sub_organization_intents`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec
from msgspec.structs import replace

from keystead.api.enums import FeatureName, OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import RequestStruct
from keystead.api.records import Timestamp, User, WalletAccount, Wire
from keystead.operations.declare import activity, older
from keystead.operations.logins.verification_tokens import (
    TOKEN_FIELD,
    check_signup,
    is_used_up,
    proven_token,
    used_token_rows,
)
from keystead.operations.logins.wallet_tokens import ProvenWallets, UsedIds, proven_wallets, used_ids
from keystead.operations.organizations.sub_organization_intents import (
    CreateSubOrganizationIntentV9,
    SubOrganizationByAnyToken,
    SubOrganizationWithPrivateKeys,
    from_v1,
    from_v2,
    from_v3,
    from_v4,
    from_v5,
    from_v6,
    from_v7,
    from_v8,
)
from keystead.operations.users.new_users import EvidenceOf, added_users, tokens_of_users
from keystead.operations.users.sibling_credentials import HeldBySiblings, held_by_suborganizations
from keystead.operations.users.user_intents import UserParamsV4
from keystead.operations.wallets.private_keys import (
    CreatePrivateKeysIntentV2,
    PrivateKeyResult,
    create_private_keys,
)
from keystead.operations.wallets.wallets import CreateWalletResult, create_wallet
from keystead.organizations.attachments import Attachment, RemovedOrganizationContents
from keystead.organizations.contacts.contact_evidence import ContactEvidence, of_google, of_token, of_writing
from keystead.organizations.contacts.contacts import normalized_contact
from keystead.organizations.credentials.google_accounts import client_ids_of
from keystead.organizations.deletion import deletion_changes
from keystead.organizations.kinds.data_key import SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Organization, Put, Version, apply, from_records
from keystead.organizations.users import new_quorum
from keystead.pipeline.context import ForeignSource
from keystead.pipeline.execution import (
    Execution,
    ExecutionWith,
    NewOrganization,
    Output,
    OutputWithoutChanges,
)
from keystead.sessions.verification_tokens import VerificationToken
from keystead.sessions.wallet_tokens import WalletClaim


class CreateSubOrganizationResultV9(Wire, frozen=True):
    sub_organization_id: str
    root_user_ids: tuple[str, ...]
    wallet: CreateWalletResult | None = None


class CreateSubOrganizationResultV3(Wire, frozen=True):
    sub_organization_id: str
    private_keys: tuple[PrivateKeyResult, ...]
    root_user_ids: tuple[str, ...]


class ResultWithPrivateKeys(CreateSubOrganizationResultV9, frozen=True):
    """The result for parameters of the third version, before `_as_v3` turns it into that version's form."""

    private_keys: tuple[PrivateKeyResult, ...] = ()


def _as_v3(result: CreateSubOrganizationResultV9) -> CreateSubOrganizationResultV3:
    assert isinstance(result, ResultWithPrivateKeys)
    return CreateSubOrganizationResultV3(
        sub_organization_id=result.sub_organization_id,
        private_keys=result.private_keys,
        root_user_ids=result.root_user_ids,
    )


_FIELD = "parameters.rootUsers"


class SignUpContext(msgspec.Struct, frozen=True):
    """`held_by_siblings`: credentials of the request that other sub-organizations have. `is_used_up`: whether the
    verification token is good for one use and was used, or the signed message was used. `used_wallet_tokens`: of
    the root users' wallets."""

    held_by_siblings: HeldBySiblings
    is_used_up: bool
    used_wallet_tokens: UsedIds


async def _sign_up_context(source: ForeignSource, intent: CreateSubOrganizationIntentV9) -> SignUpContext:
    return SignUpContext(
        held_by_siblings=await _held_by_others(source, intent),
        is_used_up=await is_used_up(source, intent.verification_token, intent.client_signature),
        used_wallet_tokens=await used_ids(
            source, [params for user in intent.root_users for params in user.wallet_authenticators]
        ),
    )


async def _held_by_others(source: ForeignSource, intent: CreateSubOrganizationIntentV9) -> HeldBySiblings:
    """The credentials of the request that sub-organizations of the parent have already.

    Nothing is looked up if a user of the parent sent the request, because users of the parent may give one
    credential to several sub-organizations. Sign-ups through an authentication proxy may not, because anybody can
    send them.
    """
    if source.submitter_id not in source.organization.auth_proxies:
        return frozenset()
    return await held_by_suborganizations(
        source.store,
        source.organization.id,
        api_keys=[key for user in intent.root_users for key in user.api_keys],
        authenticators=[params for user in intent.root_users for params in user.authenticators],
        wallets=[params for user in intent.root_users for params in user.wallet_authenticators],
        id_tokens=_tokens(intent).values(),
    )


def _tokens(intent: CreateSubOrganizationIntentV9) -> dict[str, str]:
    return tokens_of_users([user.oauth_providers for user in intent.root_users], _FIELD)


@activity(
    "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V9",
    oidc_tokens=_tokens,
    load_context=_sign_up_context,
    accepts=(
        older("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8", from_v8, result_key="createSubOrganizationResultV8"),
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
    execution: ExecutionWith[SignUpContext], intent: CreateSubOrganizationIntentV9
) -> OutputWithoutChanges[CreateSubOrganizationResultV9]:
    """Make a sub-organization with its root users, its root quorum and, if requested, a wallet."""
    parent = execution.organization
    if parent.profile.parent_id is not None:
        raise InvalidRequest(
            "activity not callable by sub-organizations: a sub-organization cannot have sub-organizations",
            machine_code="INVALID_ACTIVITY_CALLER",
        )
    token = await _token(execution, intent)
    proven_user = None if token is None else _proven_user(token, intent)
    organization_id = execution.new_id()
    data_key = SealedDataKey(await execution.signer.new_data_key(organization_id))
    profile = Profile(
        name=intent.sub_organization_name,
        root_quorum=RootQuorum(1, ()),  # until the users have ids
        created_at=Timestamp.from_ms(execution.now_ms),
        parent_id=parent.id,
        features=_features(intent),
    )
    empty = from_records(organization_id, Version(1, execution.new_id()), [profile, data_key])
    # An authentication proxy passes on what anybody claims, so it vouches for nothing.
    is_proxied = execution.submitter_id in parent.auth_proxies
    client_ids = client_ids_of(parent) if is_proxied else None

    def evidence_of(index: int, user: User) -> Sequence[ContactEvidence]:
        written = of_writing(execution.submitter_id, parent, user)
        by_token = [] if token is None or index != proven_user else [of_token(token)]
        identities = [
            identity for field, identity in execution.identities.items() if field.startswith(f"{_FIELD}[{index}].")
        ]
        return [*written, *by_token, *(one for identity in identities for one in of_google(identity, client_ids))]

    wallets = await _proven_wallets(execution, intent, is_proxied=is_proxied)
    organization, users = await _with_root_users(
        execution, empty, intent, evidence_of, [of_user.claims for of_user in wallets], is_proxied=is_proxied
    )
    organization, keys = await _with_keys(execution, organization, intent)
    user_ids = tuple(user.user_id for user in users)
    result = CreateSubOrganizationResultV9(
        sub_organization_id=organization_id, wallet=keys.wallet, root_user_ids=user_ids
    )
    if isinstance(intent, SubOrganizationWithPrivateKeys):
        result = ResultWithPrivateKeys(
            sub_organization_id=organization_id, root_user_ids=user_ids, private_keys=keys.private_keys
        )
    return OutputWithoutChanges(
        result=result,
        new_organization=NewOrganization(organization, keys.attachments, shares_credentials=not is_proxied),
        attachments=(
            *(() if token is None else used_token_rows(token, intent.client_signature)),
            *(use for of_user in wallets for use in of_user.uses),
        ),
        derived=keys.derived,
    )


async def _proven_wallets(
    execution: ExecutionWith[SignUpContext], intent: CreateSubOrganizationIntentV9, *, is_proxied: bool
) -> list[ProvenWallets]:
    """The wallets of each root user. Raises InvalidRequest."""
    return [
        await proven_wallets(
            execution,
            user.wallet_authenticators,
            f"{_FIELD}[{index}].walletAuthenticators",
            used=execution.context.used_wallet_tokens,
            without_tokens=not is_proxied,
        )
        for index, user in enumerate(intent.root_users)
    ]


async def _with_root_users(
    execution: ExecutionWith[SignUpContext],
    organization: Organization,
    intent: CreateSubOrganizationIntentV9,
    evidence_of: EvidenceOf,
    wallets: Sequence[Sequence[WalletClaim]],
    *,
    is_proxied: bool,
) -> tuple[Organization, list[User]]:
    """The organization with its root users and its root quorum, and the users."""
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
    users, changes = await added_users(
        replace(execution, organization=organization),
        requested,
        _FIELD,
        evidence_of=evidence_of,
        wallets=wallets,
        held_by_siblings=execution.context.held_by_siblings,
        by_parent=not is_proxied,
    )
    user_ids = tuple(user.user_id for user in users)
    quorum = new_quorum(user_ids, intent.root_quorum_threshold, user_ids, "parameters.rootQuorum")
    profile = replace(organization.profile, root_quorum=quorum)
    return apply(organization, (*changes, Put(profile)), organization.version), users


class _Keys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a new sub-organization as its result shows them, the rows beside it, the derived accounts."""

    wallet: CreateWalletResult | None = None
    private_keys: tuple[PrivateKeyResult, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    derived: tuple[WalletAccount, ...] = ()


async def _with_keys(
    execution: Execution, organization: Organization, intent: CreateSubOrganizationIntentV9
) -> tuple[Organization, _Keys]:
    """The organization with the wallet or the private keys of the request, if it has any. No version has both."""
    inside = replace(execution, organization=organization)
    if intent.wallet is not None:
        wallet = await create_wallet(inside, intent.wallet)
        keys = _Keys(wallet=wallet.result, attachments=wallet.attachments, derived=wallet.derived)
        return apply(organization, wallet.changes, organization.version), keys
    if isinstance(intent, SubOrganizationWithPrivateKeys):
        created = await create_private_keys(inside, CreatePrivateKeysIntentV2(private_keys=intent.private_keys))
        keys = _Keys(private_keys=created.result.private_keys, attachments=created.attachments)
        return apply(organization, created.changes, organization.version), keys
    return organization, _Keys()


async def _token(
    execution: ExecutionWith[SignUpContext], intent: CreateSubOrganizationIntentV9
) -> VerificationToken | None:
    """What the request's verification token states. Raises InvalidRequest."""
    if not intent.verification_token:
        return None
    token = await proven_token(execution, intent.verification_token, is_used_up=execution.context.is_used_up)
    if token.public_key is None and not isinstance(intent, SubOrganizationByAnyToken):
        raise InvalidRequest(
            f"invalid verification token: field `{TOKEN_FIELD}`: it names no key; this version needs a token of "
            "verify_otp with encryptedOtpBundle or publicKey"
        )
    return token


def _proven_user(token: VerificationToken, intent: CreateSubOrganizationIntentV9) -> int:
    """The index of the root user who has the contact that the token proves.

    Raises InvalidRequest if no user has it, or if the key in the token does not confirm the user's credentials.
    """
    for index, user in enumerate(intent.root_users):
        match token.otp_type:
            case OtpType.EMAIL:
                contact = user.user_email
            case OtpType.SMS:
                contact = user.user_phone_number
            case _:
                assert_never(token.otp_type)
        if contact and normalized_contact(token.otp_type, contact) == token.contact:
            check_signup(token, intent.client_signature, user)
            return index
    raise InvalidRequest(
        f"invalid verification token: field `{TOKEN_FIELD}`: no user in `{_FIELD}` has the contact that it proves"
    )


def _features(intent: CreateSubOrganizationIntentV9) -> dict[str, str]:
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
) -> Output[DeleteSubOrganizationResult]:
    """Delete the sub-organization in which this is submitted, with everything in it."""
    organization = execution.organization
    return Output(
        result=DeleteSubOrganizationResult(sub_organization_uuid=organization.id),
        changes=deletion_changes(organization, without_export=bool(intent.delete_without_export)),
        attachments=(RemovedOrganizationContents(),),
    )
