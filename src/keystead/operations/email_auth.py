"""email_auth: the key of a session goes to its user by e-mail, sealed to the client's key.

Not here: one-time codes (`starting_codes`), the key and its bundle (`session_keys`).
"""

from __future__ import annotations

from keystead.api.decoding import Label
from keystead.api.enums import CredentialType, FeatureName
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.parameters import RequestStruct, ShortText
from keystead.api.records import Wire
from keystead.delivery.templates import bundle_email, checked_branding
from keystead.operations.declare import activity, older
from keystead.operations.outgoing import (
    EmailAuthCustomizationParams,
    EmailCustomizationParams,
    SenderParams,
    check_channel,
    check_sender,
    email_to,
)
from keystead.operations.session_keys import begin_bundle_session
from keystead.organizations.sessions import user_with_email
from keystead.pipeline.activity import Execution, Outcome


class EmailAuthIntentV3(RequestStruct, frozen=True, kw_only=True):
    """`target_public_key`: the P-256 key that the session's key is sealed to."""

    email: ShortText
    target_public_key: ShortText
    email_customization: EmailAuthCustomizationParams
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
    email_customization: EmailCustomizationParams | None = None
    invalidate_existing: bool | None = None
    send_from_email_address: ShortText | None = None
    send_from_email_sender_name: ShortText | None = None
    reply_to_email_address: ShortText | None = None


class EmailAuthIntent(EmailAuthIntentV2, frozen=True, kw_only=True):
    """As the second version."""


class EmailAuthResult(Wire, frozen=True):
    user_id: str
    api_key_id: str


def _from_v2(intent: EmailAuthIntentV2) -> EmailAuthIntentV3:
    custom = intent.email_customization or EmailCustomizationParams()
    return EmailAuthIntentV3(
        email=intent.email,
        target_public_key=intent.target_public_key,
        email_customization=EmailAuthCustomizationParams(
            app_name=custom.app_name or "",  # the organization's name stands for it
            logo_url=custom.logo_url,
            magic_link_template=custom.magic_link_template,
            template_variables=custom.template_variables,
            template_id=custom.template_id,
        ),
        api_key_name=intent.api_key_name,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
        send_from_email_address=intent.send_from_email_address,
        send_from_email_sender_name=intent.send_from_email_sender_name,
        reply_to_email_address=intent.reply_to_email_address,
    )


def _from_v1(intent: EmailAuthIntent) -> EmailAuthIntentV3:
    return _from_v2(intent)


@activity(
    "ACTIVITY_TYPE_EMAIL_AUTH_V3",
    accepts=(
        older("ACTIVITY_TYPE_EMAIL_AUTH_V2", _from_v2),
        older("ACTIVITY_TYPE_EMAIL_AUTH", _from_v1),
    ),
    by_parent=True,
)
async def email_auth(execution: Execution, intent: EmailAuthIntentV3) -> Outcome[EmailAuthResult]:
    """Begin a session of a user, whose key goes by e-mail to the user's address, sealed to the target key."""
    organization, custom = execution.organization, intent.email_customization
    if FeatureName.EMAIL_AUTH not in organization.profile.features:
        raise InvalidRequest(
            f"feature {FeatureName.EMAIL_AUTH} is not enabled in organization {organization.id}; "
            "set_organization_feature does it"
        )
    check_channel(execution, "email")
    user = user_with_email(list(organization.users.values()), intent.email)
    if user is None or user.user_email is None:
        raise NotFound(
            f"unable to find a user with this e-mail address in organization {organization.id} "
            "(field `parameters.email`)"
        )
    branding = checked_branding(
        custom.app_name or organization.profile.name, custom.logo_url, custom.magic_link_template
    )
    sender = SenderParams(
        intent.send_from_email_address, intent.send_from_email_sender_name, intent.reply_to_email_address
    )
    check_sender(sender)
    session = await begin_bundle_session(
        execution,
        user,
        CredentialType.EMAIL_AUTH_KEY_P256,
        default_name="Email Auth",
        target_public_key=intent.target_public_key,
        api_key_name=intent.api_key_name,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
    )
    lasts_ms = (session.api_key.expires_at_ms or 0) - execution.now_ms
    content = bundle_email(branding, session.bundle, lasts_ms // 1000, purpose="log in to")
    message = await email_to(execution, user.user_email, content, session.bundle, sender, custom, lasts_ms)
    return Outcome(
        result=EmailAuthResult(user_id=user.user_id, api_key_id=session.api_key.api_key_id),
        changes=(session.change,),
        attachments=(message,),
    )
