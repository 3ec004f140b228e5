"""email_auth: starts a session whose key is sent to the user by e-mail, sealed to the client's key.

Not here: one-time codes (`starting_codes`), the e-mail and its bundle (`bundle_emails`).
"""

from __future__ import annotations

from typing import Final

from keystead.api.decoding import Label
from keystead.api.enums import CredentialType, FeatureName
from keystead.api.parameters import RequestStruct, ShortText
from keystead.api.records import Wire
from keystead.operations.declare import activity, older
from keystead.operations.logins import message_origins
from keystead.operations.logins.bundle_emails import BundleKind, bundle_context, emailed_bundle
from keystead.operations.logins.message_context import MessageContext
from keystead.operations.users import added_credentials as adding
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import ExecutionWith, Output
from keystead.pipeline.operation import ByParent, UserProof

_BUNDLE: Final = BundleKind(
    feature=FeatureName.EMAIL_AUTH,
    credential_type=CredentialType.EMAIL_AUTH_KEY_P256,
    key_name="Email Auth",
    purpose="log in to",
)


class EmailAuthIntentV3(RequestStruct, frozen=True, kw_only=True):
    """`target_public_key`: the P-256 key that the session's key is sealed to."""

    email: ShortText
    target_public_key: ShortText
    email_customization: message_origins.EmailAuthCustomizationParams
    api_key_name: Label | None = None
    expiration_seconds: ShortText | None = None
    invalidate_existing: bool | None = None
    send_from_email_address: ShortText | None = None
    send_from_email_sender_name: ShortText | None = None
    reply_to_email_address: ShortText | None = None


class EmailAuthIntentV2(RequestStruct, frozen=True, kw_only=True):
    email: ShortText
    target_public_key: ShortText
    api_key_name: Label | None = None
    expiration_seconds: ShortText | None = None
    email_customization: message_origins.EmailCustomizationParams | None = None
    invalidate_existing: bool | None = None
    send_from_email_address: ShortText | None = None
    send_from_email_sender_name: ShortText | None = None
    reply_to_email_address: ShortText | None = None


class EmailAuthIntent(EmailAuthIntentV2, frozen=True, kw_only=True):
    """The same parameters as in the second version."""


class EmailAuthResult(Wire, frozen=True):
    user_id: str
    api_key_id: str


def _from_v2(intent: EmailAuthIntentV2) -> EmailAuthIntentV3:
    return EmailAuthIntentV3(
        email=intent.email,
        target_public_key=intent.target_public_key,
        email_customization=message_origins.named_customization(intent.email_customization),
        api_key_name=intent.api_key_name,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
        send_from_email_address=intent.send_from_email_address,
        send_from_email_sender_name=intent.send_from_email_sender_name,
        reply_to_email_address=intent.reply_to_email_address,
    )


def _from_v1(intent: EmailAuthIntent) -> EmailAuthIntentV3:
    return _from_v2(intent)


async def _context(source: ContextSource, intent: EmailAuthIntentV3) -> MessageContext:
    return await bundle_context(source, intent)


@activity(
    "ACTIVITY_TYPE_EMAIL_AUTH_V3",
    accepts=(
        older("ACTIVITY_TYPE_EMAIL_AUTH_V2", _from_v2),
        older("ACTIVITY_TYPE_EMAIL_AUTH", _from_v1),
    ),
    load_context=_context,
    by_parent=ByParent(UserProof.MESSAGE),
    also_does=("OTP_AUTH",),
    adds=lambda *_: adding.session(CredentialType.EMAIL_AUTH_KEY_P256, None),
)
async def email_auth(
    execution: ExecutionWith[MessageContext], intent: EmailAuthIntentV3
) -> Output[EmailAuthResult]:
    """Start a session of a user. Its key is sent to the user's e-mail address, sealed to the target key."""
    sent = await emailed_bundle(
        execution,
        intent,
        _BUNDLE,
        api_key_name=intent.api_key_name,
        invalidate_existing=intent.invalidate_existing,
    )
    return Output(
        result=EmailAuthResult(user_id=sent.user_id, api_key_id=sent.api_key_id),
        changes=(sent.change,),
        begun_by=sent.begun_by,
        attachments=sent.rows,
    )
