"""init_otp and init_otp_auth: they make a one-time code, count its message, and send it to a contact.

Here: their parameters and results, and how older versions become the newest. These operations do not look up
whether a user has the contact, so the answer cannot reveal it. Not here: verifying codes (`verifying_codes`),
their rows (`organizations.contacts.one_time_codes`).
"""

from __future__ import annotations

import secrets
from typing import Annotated, Any, Literal, assert_never

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import RequestStruct, ShortText
from keystead.api.records import Wire
from keystead.delivery.templates import code_email, code_sms
from keystead.operations.declare import activity, older
from keystead.operations.logins import message_origins
from keystead.operations.logins.message_context import (
    CountedMessage,
    MessageContext,
    counted_message,
    message_context,
)
from keystead.operations.logins.message_origins import MessageChoices, MessageOrigin, message_origin
from keystead.operations.logins.outgoing_messages import check_channel, email_to, sms_to
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.contacts.account_contacts import check_logins_by_code
from keystead.organizations.contacts.contacts import check_email, check_phone_number
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.organizations.contacts.outgoing_messages import MessageChannel
from keystead.organizations.contacts.sending_windows import Room
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import ExecutionWith, OutputWithoutChanges
from keystead.pipeline.operation import ByParent, UserProof
from keystead.sessions import one_time_codes
from keystead.sessions.bounds import CODE_COMBINATIONS_MIN, CODE_LENGTH_MAX, CODE_LENGTH_MIN, CODE_LIFE_MAX_S

CodeLength = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Seconds = Annotated[str, Meta(max_length=10)]


class InitOtpIntentV3(RequestStruct, frozen=True, kw_only=True):
    """`otp_length`: 6 to 9; 9 if absent. `expiration_seconds`: decimal text, at most 600; 300 if absent."""

    otp_type: OtpType
    contact: ShortText
    app_name: Label
    otp_length: CodeLength | None = None
    email_customization: message_origins.EmailCustomizationParamsV2 | None = None
    sms_customization: message_origins.SmsCustomizationParams | None = None
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
    email_customization: message_origins.EmailCustomizationParams | None = None
    sms_customization: message_origins.SmsCustomizationParams | None = None
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
    email_customization: message_origins.EmailCustomizationParams | None = None
    sms_customization: message_origins.SmsCustomizationParams | None = None
    user_identifier: ShortText | None = None
    send_from_email_address: ShortText | None = None
    alphanumeric: bool | None = None
    send_from_email_sender_name: ShortText | None = None
    reply_to_email_address: ShortText | None = None


class InitOtpAuthIntent(RequestStruct, frozen=True, kw_only=True):
    otp_type: OtpType
    contact: ShortText
    email_customization: message_origins.EmailCustomizationParams | None = None
    sms_customization: message_origins.SmsCustomizationParams | None = None
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


def from_v2(intent: InitOtpIntentV2) -> InitOtpIntentV3:
    return intent


def from_v1(intent: InitOtpIntent) -> InitOtpIntentV3:
    return InitOtpIntentV2(**_members(intent), app_name=_app_name(intent.email_customization))


def auth_from_v2(intent: InitOtpAuthIntentV2) -> InitOtpAuthIntentV3:
    return InitOtpAuthIntentV3(**_members(intent), app_name=_app_name(intent.email_customization))


def auth_from_v1(intent: InitOtpAuthIntent) -> InitOtpAuthIntentV3:
    return InitOtpAuthIntentV3(**_members(intent), app_name=_app_name(intent.email_customization))


def _members(intent: RequestStruct) -> dict[str, Any]:
    return {name: getattr(intent, name) for name in intent.__struct_fields__}


def _app_name(customization: message_origins.EmailCustomizationParams | None) -> str:
    """The application's name in an older request; "" stands for the name of the organization, or of its parent."""
    return (customization.app_name or "") if customization else ""


def without_bundle(result: InitOtpResultV2) -> InitOtpResult:
    return InitOtpResult(otp_id=result.otp_id)


def older_auth_result(result: InitOtpAuthResultV2) -> InitOtpAuthResult:
    return InitOtpAuthResult(otp_id=result.otp_id)


def checked_seconds(text: str | None, expiring: str, default_s: int, max_s: int) -> int:
    """The request's `expirationSeconds`. `expiring`: what expires, for the error. Raises InvalidRequest."""
    if not text:
        return default_s
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= max_s):
        raise InvalidRequest(
            f"invalid {expiring} expiration: field `parameters.expirationSeconds`: {text!r}: expected 1 to {max_s} "
            "seconds as decimal text"
        )
    return int(text)


Flow = Literal["encrypted", "plain", "auth"]


async def _context(source: ContextSource, intent: InitOtpIntentV3) -> MessageContext:
    return await message_context(source, intent.otp_type, intent.contact, intent.user_identifier)


async def _auth_context(source: ContextSource, intent: InitOtpAuthIntentV3) -> MessageContext:
    return await _context(source, intent)


@activity(
    "ACTIVITY_TYPE_INIT_OTP_V3",
    accepts=(
        older("ACTIVITY_TYPE_INIT_OTP_V2", from_v2, result=without_bundle),
        older("ACTIVITY_TYPE_INIT_OTP", from_v1, result=without_bundle),
    ),
    load_context=_context,
    also_does=("INIT_OTP_AUTH",),
)
async def init_otp(
    execution: ExecutionWith[MessageContext], intent: InitOtpIntentV3
) -> OutputWithoutChanges[InitOtpResultV2]:
    """Send a one-time code to an e-mail address or a phone number."""
    if execution.organization.profile.parent_id is not None:
        check_logins_by_code(execution.organization, intent.otp_type)
    flow: Flow = "plain" if isinstance(intent, InitOtpIntentV2) else "encrypted"
    otp_id, bundle, rows = await _start_code(execution, intent, flow)
    return OutputWithoutChanges(
        result=InitOtpResultV2(otp_id=otp_id, otp_encryption_target_bundle=bundle),
        attachments=rows,
    )


@activity(
    "ACTIVITY_TYPE_INIT_OTP_AUTH_V3",
    accepts=(
        older("ACTIVITY_TYPE_INIT_OTP_AUTH_V2", auth_from_v2),
        older(
            "ACTIVITY_TYPE_INIT_OTP_AUTH",
            auth_from_v1,
            result=older_auth_result,
        ),
    ),
    load_context=_auth_context,
    by_parent=ByParent(UserProof.MESSAGE),
    also_does=("INIT_OTP",),
)
async def init_otp_auth(
    execution: ExecutionWith[MessageContext], intent: InitOtpAuthIntentV3
) -> OutputWithoutChanges[InitOtpAuthResultV2]:
    """Send a one-time code for otp_auth to a contact of a user of this organization."""
    check_logins_by_code(execution.organization, intent.otp_type)
    otp_id, _, rows = await _start_code(execution, intent, "auth")
    return OutputWithoutChanges(result=InitOtpAuthResultV2(otp_id=otp_id), attachments=rows)


async def _start_code(
    execution: ExecutionWith[MessageContext], intent: InitOtpIntentV3, flow: Flow
) -> tuple[str, str, tuple[VersionedRow, ...]]:
    """Make a code. Returns its id, the bundle with the key that it is encrypted to ("" in older flows), and the
    rows."""
    organization, signer, now_ms = execution.organization, execution.signer, execution.now_ms
    contact, form = _checked_contact(intent), _checked_form(intent)
    lasts_ms = 1000 * checked_seconds(
        intent.expiration_seconds, "otp", one_time_codes.LIFE_DEFAULT_S, CODE_LIFE_MAX_S
    )
    origin = message_origin(_choices(intent), execution.context)
    sandbox = execution.messages.has_sandbox and one_time_codes.is_sandbox(contact, form)
    # Sandbox contacts get no message, and everybody knows their code, so these codes are not counted.
    counted = None
    if not sandbox:
        _check_strength(form, execution.context.room)
        counted = counted_message(execution.context, now_ms)
        lasts_ms = max(lasts_ms, counted.ends_at_ms - now_ms)
        form = one_time_codes.form_after(form, counted.guesses)
    otp_id = execution.new_id()
    code = one_time_codes.SANDBOX_CODE if sandbox else one_time_codes.new_code(form, secrets.randbelow)
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
        expires_at_ms=now_ms + lasts_ms,
        room=None if counted is None else execution.context.room,
    )
    rows: tuple[VersionedRow, ...] = (row,)
    if counted is not None:
        rows += await _message(execution, row, code, origin, counted)
    return otp_id, target.bundle if target else "", rows


async def _message(
    execution: ExecutionWith[MessageContext],
    row: OneTimeCode,
    code: str,
    origin: MessageOrigin,
    counted: CountedMessage,
) -> tuple[VersionedRow, ...]:
    channel: MessageChannel = "email" if row.otp_type is OtpType.EMAIL else "sms"
    check_channel(execution, channel)
    lasts_ms = row.expires_at_ms - row.created_at_ms
    if channel == "sms":
        text = code_sms(origin.branding.app_name, code, origin.sms_template)
        return await sms_to(execution, row.contact, text, code, counted, lasts_ms)
    content = code_email(origin.branding, code, lasts_ms // 1000)
    return await email_to(execution, row.contact, content, code, origin, counted, lasts_ms)


def _choices(intent: InitOtpIntentV3) -> MessageChoices:
    return MessageChoices(
        app_name=intent.app_name,
        email=intent.email_customization,
        sms=intent.sms_customization,
        send_from_email_address=intent.send_from_email_address,
        send_from_email_sender_name=intent.send_from_email_sender_name,
        reply_to_email_address=intent.reply_to_email_address,
    )


def _checked_contact(intent: InitOtpIntentV3) -> str:
    match intent.otp_type:
        case OtpType.EMAIL:
            return check_email(intent.contact, "parameters.contact").lower()
        case OtpType.SMS:
            return check_phone_number(intent.contact, "parameters.contact")
        case _:
            assert_never(intent.otp_type)


def _checked_form(intent: InitOtpIntentV3) -> one_time_codes.CodeForm:
    length = one_time_codes.LENGTH_DEFAULT if intent.otp_length is None else intent.otp_length
    if not CODE_LENGTH_MIN <= length <= CODE_LENGTH_MAX:
        raise InvalidRequest(
            f"invalid otp length: field `parameters.otpLength`: {length}: expected "
            f"{CODE_LENGTH_MIN} to {CODE_LENGTH_MAX}"
        )
    return one_time_codes.CodeForm(length=length, alphanumeric=intent.alphanumeric is not False)


def _check_strength(form: one_time_codes.CodeForm, room: Room) -> None:
    """Raise InvalidRequest for a form that a sub-organization may not choose: its users could guess codes that are
    sent to other people."""
    if room == "tenants" and form.combinations < CODE_COMBINATIONS_MIN:
        raise InvalidRequest(
            "invalid otp form: fields `parameters.otpLength` and `parameters.alphanumeric`: a code that a "
            f"sub-organization sends has letters and digits, or {CODE_LENGTH_MAX} digits"
        )
