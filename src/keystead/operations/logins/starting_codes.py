"""init_otp and init_otp_auth: they make a one-time code, count its message, and send it to a contact.

These operations do not look up whether a user has the contact, so the answer cannot reveal it. Not here: verifying
codes (`verifying_codes`), their rows (`organizations.contacts.one_time_codes`).
"""

from __future__ import annotations

import secrets
from typing import Any, Literal, assert_never

from keystead.api.enums import OtpType
from keystead.api.errors import InvalidRequest
from keystead.delivery.templates import code_email, code_sms
from keystead.operations.declare import activity, older
from keystead.operations.logins.message_context import (
    CountedMessage,
    MessageContext,
    counted_message,
    message_context,
)
from keystead.operations.logins.message_origins import MessageChoices, MessageOrigin, message_origin
from keystead.operations.logins.outgoing_messages import check_channel, email_to, sms_to
from keystead.operations.logins.starting_code_intents import (
    InitOtpAuthIntentV3,
    InitOtpAuthResultV2,
    InitOtpIntentV2,
    InitOtpIntentV3,
    InitOtpResultV2,
    auth_from_v1,
    auth_from_v2,
    checked_seconds,
    from_v1,
    from_v2,
    older_auth_result,
    without_bundle,
)
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.contacts.account_contacts import check_logins_by_code
from keystead.organizations.contacts.contacts import check_email, check_phone_number
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.organizations.contacts.outgoing_messages import MessageChannel
from keystead.organizations.contacts.sending_windows import Room
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import ExecutionWith, OutputWithoutChanges
from keystead.pipeline.operation import ByParent, UserProof
from keystead.sessions.one_time_codes import (
    COMBINATIONS_MIN,
    LENGTH_DEFAULT,
    LENGTH_MAX,
    LENGTH_MIN,
    LIFE_DEFAULT_S,
    LIFE_MAX_S,
    SANDBOX_CODE,
    CodeForm,
    form_after,
    is_sandbox,
    new_code,
)

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
        result=InitOtpResultV2(otp_id=otp_id, otp_encryption_target_bundle=bundle), attachments=rows
    )


@activity(
    "ACTIVITY_TYPE_INIT_OTP_AUTH_V3",
    accepts=(
        older("ACTIVITY_TYPE_INIT_OTP_AUTH_V2", auth_from_v2),
        older("ACTIVITY_TYPE_INIT_OTP_AUTH", auth_from_v1, result=older_auth_result),
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
    lasts_ms = 1000 * checked_seconds(intent.expiration_seconds, "otp", LIFE_DEFAULT_S, LIFE_MAX_S)
    origin = message_origin(_choices(intent), execution.context)
    sandbox = execution.messages.has_sandbox and is_sandbox(contact, form)
    # Sandbox contacts get no message, and everybody knows their code, so these codes are not counted.
    counted = None
    if not sandbox:
        _check_strength(form, execution.context.room)
        counted = counted_message(execution.context, now_ms)
        lasts_ms = max(lasts_ms, counted.ends_at_ms - now_ms)
        form = form_after(form, counted.guesses)
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


def _checked_form(intent: InitOtpIntentV3) -> CodeForm:
    length = LENGTH_DEFAULT if intent.otp_length is None else intent.otp_length
    if not LENGTH_MIN <= length <= LENGTH_MAX:
        raise InvalidRequest(
            f"invalid otp length: field `parameters.otpLength`: {length}: expected {LENGTH_MIN} to {LENGTH_MAX}"
        )
    return CodeForm(length=length, alphanumeric=intent.alphanumeric is not False)


def _check_strength(form: CodeForm, room: Room) -> None:
    """Raise InvalidRequest for a form that a sub-organization may not choose: its users could guess codes that are
    sent to other people."""
    if room == "tenants" and form.combinations < COMBINATIONS_MIN:
        raise InvalidRequest(
            "invalid otp form: fields `parameters.otpLength` and `parameters.alphanumeric`: a code that a "
            f"sub-organization sends has letters and digits, or {LENGTH_MAX} digits"
        )
