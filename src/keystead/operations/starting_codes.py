"""init_otp and init_otp_auth: they make a one-time code, count it, and send it to a contact.

These operations do not look up whether a user has the contact, so the answer cannot reveal it. Not here: verifying
codes (`verifying_codes`), their rows (`organizations.one_time_codes`).
"""

from __future__ import annotations

import secrets
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from keystead.api.enums import OtpType
from keystead.api.errors import InvalidRequest, LimitReached
from keystead.api.parameters import RequestStruct, ShortText
from keystead.api.records import Wire
from keystead.delivery.templates import checked_branding, code_email, code_sms
from keystead.operations.declare import activity, older
from keystead.operations.outgoing import (
    EmailCustomizationParams,
    EmailCustomizationParamsV2,
    SenderParams,
    SmsCustomizationParams,
    check_channel,
    check_sender,
    email_to,
    sms_to,
)
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.contacts import check_email, check_phone_number, normalized_contact
from keystead.organizations.one_time_codes import (
    CodeCount,
    CodeStart,
    OneTimeCode,
    contact_subject,
    has_room_for_contact,
    has_room_for_user,
    no_starts,
    user_subject,
)
from keystead.organizations.outgoing_messages import Channel, OutgoingMessage
from keystead.organizations.verified_contacts import check_logins_by_code
from keystead.pipeline.activity import ExecutionWith, Outcome
from keystead.pipeline.context import ContextSource
from keystead.sessions.one_time_codes import (
    LENGTH_DEFAULT,
    LENGTH_MAX,
    LENGTH_MIN,
    LIFE_DEFAULT_S,
    LIFE_MAX_S,
    SANDBOX_CODE,
    CodeForm,
    is_sandbox,
    new_code,
)

Flow = Literal["encrypted", "plain", "auth"]
CodeLength = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Seconds = Annotated[str, Meta(max_length=10)]


class InitOtpIntentV3(RequestStruct, frozen=True, kw_only=True):
    """`otp_length`: 6 to 9; 9 if absent. `expiration_seconds`: decimal text, at most 600; 300 if absent."""

    otp_type: OtpType
    contact: ShortText
    app_name: ShortText
    otp_length: CodeLength | None = None
    email_customization: EmailCustomizationParamsV2 | None = None
    sms_customization: SmsCustomizationParams | None = None
    user_identifier: ShortText | None = None
    send_from_email_address: ShortText | None = None
    alphanumeric: bool | None = None
    send_from_email_sender_name: ShortText | None = None
    expiration_seconds: Seconds | None = None
    reply_to_email_address: ShortText | None = None


class InitOtpIntentV2(InitOtpIntentV3, frozen=True, kw_only=True):
    """For codes that are verified in plaintext."""


class InitOtpIntent(RequestStruct, frozen=True, kw_only=True):
    otp_type: OtpType
    contact: ShortText
    otp_length: CodeLength | None = None
    email_customization: EmailCustomizationParams | None = None
    sms_customization: SmsCustomizationParams | None = None
    user_identifier: ShortText | None = None
    send_from_email_address: ShortText | None = None
    alphanumeric: bool | None = None
    send_from_email_sender_name: ShortText | None = None
    expiration_seconds: Seconds | None = None
    reply_to_email_address: ShortText | None = None


class InitOtpAuthIntentV3(InitOtpIntentV3, frozen=True, kw_only=True):
    """See InitOtpIntentV3. The code is for otp_auth."""


class InitOtpAuthIntentV2(RequestStruct, frozen=True, kw_only=True):
    otp_type: OtpType
    contact: ShortText
    otp_length: CodeLength | None = None
    email_customization: EmailCustomizationParams | None = None
    sms_customization: SmsCustomizationParams | None = None
    user_identifier: ShortText | None = None
    send_from_email_address: ShortText | None = None
    alphanumeric: bool | None = None
    send_from_email_sender_name: ShortText | None = None
    reply_to_email_address: ShortText | None = None


class InitOtpAuthIntent(RequestStruct, frozen=True, kw_only=True):
    otp_type: OtpType
    contact: ShortText
    email_customization: EmailCustomizationParams | None = None
    sms_customization: SmsCustomizationParams | None = None
    user_identifier: ShortText | None = None
    send_from_email_address: ShortText | None = None
    send_from_email_sender_name: ShortText | None = None
    reply_to_email_address: ShortText | None = None


class InitOtpResultV2(Wire, frozen=True):
    """`otp_encryption_target_bundle`: JSON text, signed by the server, with the key to which the code is
    encrypted."""

    otp_id: str
    otp_encryption_target_bundle: str


class InitOtpResult(Wire, frozen=True):
    otp_id: str


class InitOtpAuthResultV2(Wire, frozen=True):
    otp_id: str


class InitOtpAuthResult(Wire, frozen=True):
    otp_id: str


class CodeCounts(msgspec.Struct, frozen=True):
    """The codes that were recently started for the contact, and for the user identifier if there is one."""

    contact: CodeCount
    user: CodeCount | None


async def _counts(source: ContextSource, intent: InitOtpIntentV3) -> CodeCounts:
    async def of(subject: str) -> CodeCount:
        return await source.store.code_count(source.organization.id, subject) or no_starts(subject)

    user = await of(user_subject(intent.user_identifier)) if intent.user_identifier else None
    return CodeCounts(await of(contact_subject(normalized_contact(intent.otp_type, intent.contact))), user)


async def _auth_counts(source: ContextSource, intent: InitOtpAuthIntentV3) -> CodeCounts:
    return await _counts(source, intent)


def _from_v2(intent: InitOtpIntentV2) -> InitOtpIntentV3:
    return intent


def _from_v1(intent: InitOtpIntent) -> InitOtpIntentV3:
    return InitOtpIntentV2(**_members(intent), app_name=_app_name(intent.email_customization))


def _auth_from_v2(intent: InitOtpAuthIntentV2) -> InitOtpAuthIntentV3:
    return InitOtpAuthIntentV3(**_members(intent), app_name=_app_name(intent.email_customization))


def _auth_from_v1(intent: InitOtpAuthIntent) -> InitOtpAuthIntentV3:
    return InitOtpAuthIntentV3(**_members(intent), app_name=_app_name(intent.email_customization))


def _members(intent: RequestStruct) -> dict[str, Any]:
    return {name: getattr(intent, name) for name in intent.__struct_fields__}


def _app_name(customization: EmailCustomizationParams | None) -> str:
    """The application's name in an older request; "" stands for the organization's name."""
    return (customization.app_name or "") if customization else ""


def _without_bundle(result: InitOtpResultV2) -> InitOtpResult:
    return InitOtpResult(otp_id=result.otp_id)


def _older_auth_result(result: InitOtpAuthResultV2) -> InitOtpAuthResult:
    return InitOtpAuthResult(otp_id=result.otp_id)


@activity(
    "ACTIVITY_TYPE_INIT_OTP_V3",
    accepts=(
        older("ACTIVITY_TYPE_INIT_OTP_V2", _from_v2, result=_without_bundle),
        older("ACTIVITY_TYPE_INIT_OTP", _from_v1, result=_without_bundle),
    ),
    load_context=_counts,
    changes_organization=False,
)
async def init_otp(execution: ExecutionWith[CodeCounts], intent: InitOtpIntentV3) -> Outcome[InitOtpResultV2]:
    """Send a one-time code to an e-mail address or a phone number."""
    if execution.organization.profile.parent_id is not None:
        check_logins_by_code(execution.organization, intent.otp_type)
    flow: Flow = "plain" if isinstance(intent, InitOtpIntentV2) else "encrypted"
    otp_id, bundle, rows = await _started(execution, intent, flow)
    return Outcome(result=InitOtpResultV2(otp_id=otp_id, otp_encryption_target_bundle=bundle), attachments=rows)


@activity(
    "ACTIVITY_TYPE_INIT_OTP_AUTH_V3",
    accepts=(
        older("ACTIVITY_TYPE_INIT_OTP_AUTH_V2", _auth_from_v2),
        older("ACTIVITY_TYPE_INIT_OTP_AUTH", _auth_from_v1, result=_older_auth_result),
    ),
    load_context=_auth_counts,
    by_parent=True,
    changes_organization=False,
)
async def init_otp_auth(
    execution: ExecutionWith[CodeCounts], intent: InitOtpAuthIntentV3
) -> Outcome[InitOtpAuthResultV2]:
    """Send a one-time code for otp_auth to a contact of a user of this organization."""
    check_logins_by_code(execution.organization, intent.otp_type)
    otp_id, _, rows = await _started(execution, intent, "auth")
    return Outcome(result=InitOtpAuthResultV2(otp_id=otp_id), attachments=rows)


async def _started(
    execution: ExecutionWith[CodeCounts], intent: InitOtpIntentV3, flow: Flow
) -> tuple[str, str, tuple[VersionedRow, ...]]:
    """The id of a new code, the bundle with the key that it is encrypted to ("" in older flows), the rows."""
    organization, signer, now_ms = execution.organization, execution.signer, execution.now_ms
    contact = _checked_contact(intent)
    form = _checked_form(intent)
    lasts_s = checked_seconds(intent.expiration_seconds, "otp", LIFE_DEFAULT_S, LIFE_MAX_S)
    sandbox = execution.messages.has_sandbox and is_sandbox(contact, form)
    otp_id = execution.new_id()
    code = SANDBOX_CODE if sandbox else new_code(form, secrets.randbelow)
    place: dict[str, Any] = {
        "organization_id": organization.id,
        "data_key": organization.data_key.sealed,
        "otp_id": otp_id,
    }
    target = await signer.new_otp_target(**place) if flow == "encrypted" else None
    row = OneTimeCode(
        id=otp_id,
        flow=flow,
        otp_type=intent.otp_type,
        contact=contact,
        form=form,
        digest=await signer.code_digest(code=code, **place),
        target=target.sealed if target else None,
        created_at_ms=now_ms,
        expires_at_ms=now_ms + lasts_s * 1000,
    )
    # Sandbox contacts get no message, and everybody knows their code, so these codes are not counted.
    message = None if sandbox else await _message(execution, intent, contact, code, lasts_s)
    counts = () if sandbox else _counted(execution.context, row)
    rows = (row, *counts, *([message] if message else []))
    return otp_id, target.bundle if target else "", rows


def _counted(counts: CodeCounts, code: OneTimeCode) -> tuple[CodeCount, ...]:
    """The counts with this code. Raises LimitReached if the contact or the user identifier may have no more
    codes."""
    now_ms = code.created_at_ms
    if not has_room_for_contact(counts.contact, now_ms):
        raise LimitReached(
            "Max number of OTPs have been initiated: this contact has as many codes that are still valid as it may "
            "have; use one of them, or wait until one expires"
        )
    if counts.user is not None and not has_room_for_user(counts.user, now_ms):
        raise LimitReached(
            "Max number of OTPs have been initiated: field `parameters.userIdentifier`: this user has lately "
            "started as many codes as it may; wait some minutes"
        )
    start = CodeStart(code.id, now_ms, code.expires_at_ms)
    return tuple(count.with_start(start) for count in (counts.contact, counts.user) if count is not None)


async def _message(
    execution: ExecutionWith[CodeCounts], intent: InitOtpIntentV3, contact: str, code: str, lasts_s: int
) -> OutgoingMessage:
    channel: Channel = "email" if intent.otp_type is OtpType.EMAIL else "sms"
    check_channel(execution, channel)
    custom = intent.email_customization
    branding = checked_branding(
        intent.app_name or execution.organization.profile.name,
        custom.logo_url if custom else None,
        custom.magic_link_template if custom else None,
    )
    if channel == "sms":
        template = intent.sms_customization.template if intent.sms_customization else None
        text = code_sms(branding.app_name, code, template)
        return await sms_to(execution, contact, text, code, lasts_s * 1000)
    sender = SenderParams(
        intent.send_from_email_address, intent.send_from_email_sender_name, intent.reply_to_email_address
    )
    check_sender(sender)
    content = code_email(branding, code, lasts_s)
    return await email_to(execution, contact, content, code, sender, custom, lasts_s * 1000)


def _checked_contact(intent: InitOtpIntentV3) -> str:
    if intent.otp_type is OtpType.EMAIL:
        return check_email(intent.contact, "parameters.contact").lower()
    return check_phone_number(intent.contact, "parameters.contact")


def _checked_form(intent: InitOtpIntentV3) -> CodeForm:
    length = LENGTH_DEFAULT if intent.otp_length is None else intent.otp_length
    if not LENGTH_MIN <= length <= LENGTH_MAX:
        raise InvalidRequest(
            f"invalid otp length: field `parameters.otpLength`: {length}: expected {LENGTH_MIN} to {LENGTH_MAX}"
        )
    return CodeForm(length=length, alphanumeric=intent.alphanumeric is not False)


def checked_seconds(text: str | None, called: str, default_s: int, max_s: int) -> int:
    """The request's `expirationSeconds`. `called`: what expires, for the refusal. Raises InvalidRequest."""
    if not text:
        return default_s
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= max_s):
        raise InvalidRequest(
            f"invalid {called} expiration: field `parameters.expirationSeconds`: {text!r}: expected 1 to {max_s} "
            "seconds as decimal text"
        )
    return int(text)
