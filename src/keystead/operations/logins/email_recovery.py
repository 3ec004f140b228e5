"""Recovery by e-mail: a user who lost every credential gets a key by e-mail, and registers a passkey with it. A new
user does the same with the key of an invitation (`invitations`).

A recovery key opens recover_user and whoami, nothing else (`server.authentication`), and is used once. Not here:
the e-mail and its bundle (`bundle_emails`).
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from keystead.api.enums import CredentialType, FeatureName
from keystead.api.errors import PermissionDenied
from keystead.api.identifiers import Uuid
from keystead.api.parameters import AuthenticatorParamsV2, RequestStruct, ShortText
from keystead.api.records import Timestamp, Wire
from keystead.operations.declare import activity, older
from keystead.operations.logins import message_origins
from keystead.operations.logins.bundle_emails import BundleKind, bundle_context, emailed_bundle
from keystead.operations.logins.message_context import MessageContext
from keystead.operations.users import added_credentials as adding
from keystead.operations.users.new_users import named_user
from keystead.operations.users.sibling_credentials import HeldBySiblings, held_by_siblings
from keystead.organizations.credentials import authenticators
from keystead.organizations.credentials.credentials import check_not_held_by_siblings
from keystead.organizations.invited_users import without_invitations
from keystead.organizations.kinds.users import Users
from keystead.organizations.organization import Put
from keystead.pipeline.context import ContextSource, ForeignSource
from keystead.pipeline.execution import ExecutionWith, Output
from keystead.pipeline.operation import ByParent, UserProof

_BUNDLE: Final = BundleKind(
    feature=FeatureName.EMAIL_RECOVERY,
    credential_type=CredentialType.RECOVER_USER_KEY_P256,
    key_name="Email Recovery",
    purpose="recover your account at",
)


class InitUserEmailRecoveryIntentV2(RequestStruct, frozen=True, kw_only=True):
    """`target_public_key`: the P-256 key that the recovery key is sealed to."""

    email: ShortText
    target_public_key: ShortText
    email_customization: message_origins.EmailAuthCustomizationParams
    expiration_seconds: ShortText | None = None
    send_from_email_address: ShortText | None = None
    send_from_email_sender_name: ShortText | None = None
    reply_to_email_address: ShortText | None = None


class InitUserEmailRecoveryIntent(RequestStruct, frozen=True, kw_only=True):
    email: ShortText
    target_public_key: ShortText
    expiration_seconds: ShortText | None = None
    email_customization: message_origins.EmailCustomizationParams | None = None
    send_from_email_address: ShortText | None = None
    send_from_email_sender_name: ShortText | None = None
    reply_to_email_address: ShortText | None = None


class InitUserEmailRecoveryResult(Wire, frozen=True):
    user_id: str


def _from_v1(intent: InitUserEmailRecoveryIntent) -> InitUserEmailRecoveryIntentV2:
    return InitUserEmailRecoveryIntentV2(
        email=intent.email,
        target_public_key=intent.target_public_key,
        email_customization=message_origins.named_customization(intent.email_customization),
        expiration_seconds=intent.expiration_seconds,
        send_from_email_address=intent.send_from_email_address,
        send_from_email_sender_name=intent.send_from_email_sender_name,
        reply_to_email_address=intent.reply_to_email_address,
    )


async def _context(source: ContextSource, intent: InitUserEmailRecoveryIntentV2) -> MessageContext:
    return await bundle_context(source, intent)


@activity(
    "ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY_V2",
    accepts=(older("ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY", _from_v1),),
    load_context=_context,
    by_parent=ByParent(UserProof.MESSAGE),
)
async def init_user_email_recovery(
    execution: ExecutionWith[MessageContext], intent: InitUserEmailRecoveryIntentV2
) -> Output[InitUserEmailRecoveryResult]:
    """Send a user a recovery key by e-mail, sealed to the target key. It replaces an earlier recovery key."""
    sent = await emailed_bundle(execution, intent, _BUNDLE, api_key_name=None, invalidate_existing=True)
    return Output(
        result=InitUserEmailRecoveryResult(user_id=sent.user_id),
        changes=(sent.change,),
        begun_by=sent.begun_by,
        attachments=sent.rows,
    )


class RecoverUserIntent(RequestStruct, frozen=True):
    authenticator: AuthenticatorParamsV2
    user_id: Uuid


class RecoverUserResult(Wire, frozen=True):
    """`authenticator_id`: a list of one id."""

    authenticator_id: tuple[str, ...]


async def _held_by_siblings(source: ForeignSource, intent: RecoverUserIntent) -> HeldBySiblings:
    return await held_by_siblings(source, authenticators=(intent.authenticator,))


@activity(
    "ACTIVITY_TYPE_RECOVER_USER",
    owner=named_user,
    load_context=_held_by_siblings,
    for_recovery=True,
    adds=lambda _, intent: adding.authenticators([intent.authenticator], intent.user_id),
)
def recover_user(execution: ExecutionWith[HeldBySiblings], intent: RecoverUserIntent) -> Output[RecoverUserResult]:
    """Give the user whose recovery key stamps this a new passkey. The key is deleted."""
    user = execution.organization.record(Users, intent.user_id)
    others = tuple(key for key in user.api_keys if key.credential.type is not _BUNDLE.credential_type)
    if execution.stamped_with not in {key.api_key_id for key in user.api_keys if key not in others}:
        raise PermissionDenied(
            f"recover_user: expected the stamp of the recovery key that user {user.user_id} got by "
            "init_user_email_recovery or an invitation, and that was not used or replaced since"
        )
    now = Timestamp.from_ms(execution.now_ms)
    authenticators.check_room_for_authenticators(len(user.authenticators), 1, execution.limits)
    added, passkey = authenticators.new_authenticator(
        intent.authenticator, execution.new_id(), now, "parameters.authenticator"
    )
    authenticators.check_credential_ids_free(execution.organization, [added])
    check_not_held_by_siblings(execution.context, [added.credential_id])
    recovered = replace(user, authenticators=(*user.authenticators, added), api_keys=others, updated_at=now)
    return Output(
        result=RecoverUserResult(authenticator_id=(added.authenticator_id,)),
        changes=(Put(recovered), Put(passkey), *without_invitations(execution.organization, (user.user_id,))),
    )
