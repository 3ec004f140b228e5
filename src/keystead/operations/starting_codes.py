"""init_otp and init_otp_auth: they make a one-time code, count it, and send it to a contact.

These operations do not look up whether a user has the contact, so the answer cannot reveal it. Not here: verifying
codes (`verifying_codes`), their rows (`organizations.one_time_codes`).
"""

from __future__ import annotations

import secrets
from typing import Any, Literal, assert_never

import msgspec

from keystead.api.enums import OtpType
from keystead.api.errors import InvalidRequest, LimitReached
from keystead.delivery.templates import checked_branding, code_email, code_sms
from keystead.operations.declare import activity, older
from keystead.operations.outgoing_messages import (
    SenderParams,
    check_channel,
    check_sender,
    email_to,
    sms_to,
)
from keystead.operations.starting_code_intents import (
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
from keystead.organizations.account_contacts import check_logins_by_code
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.contacts import check_email, check_phone_number, normalized_contact
from keystead.organizations.one_time_codes import (
    CodeCount,
    CodeStart,
    OneTimeCode,
    contact_subject,
    count_without_starts,
    has_room_for_contact,
    has_room_for_user,
    user_subject,
)
from keystead.organizations.outgoing_messages import MessageChannel, OutgoingMessage
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution_values import ExecutionWith, OutputWithoutChanges
from keystead.pipeline.operation import ByParent, UserProof
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


class CodeCounts(msgspec.Struct, frozen=True):
    """The codes that were recently started for the contact, and for the user identifier if there is one."""

    contact: CodeCount
    user: CodeCount | None


async def _counts(source: ContextSource, intent: InitOtpIntentV3) -> CodeCounts:
    async def count_of(subject: str) -> CodeCount:
        count = await source.store.attached_row(CodeCount, source.organization.id, subject)
        return count or count_without_starts(subject)

    user = await count_of(user_subject(intent.user_identifier)) if intent.user_identifier else None
    return CodeCounts(await count_of(contact_subject(normalized_contact(intent.otp_type, intent.contact))), user)


async def _auth_counts(source: ContextSource, intent: InitOtpAuthIntentV3) -> CodeCounts:
    return await _counts(source, intent)


@activity(
    "ACTIVITY_TYPE_INIT_OTP_V3",
    accepts=(
        older("ACTIVITY_TYPE_INIT_OTP_V2", from_v2, result=without_bundle),
        older("ACTIVITY_TYPE_INIT_OTP", from_v1, result=without_bundle),
    ),
    load_context=_counts,
    also_does=("INIT_OTP_AUTH",),
)
async def init_otp(
    execution: ExecutionWith[CodeCounts], intent: InitOtpIntentV3
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
    load_context=_auth_counts,
    by_parent=ByParent(UserProof.MESSAGE),
    also_does=("INIT_OTP",),
)
async def init_otp_auth(
    execution: ExecutionWith[CodeCounts], intent: InitOtpAuthIntentV3
) -> OutputWithoutChanges[InitOtpAuthResultV2]:
    """Send a one-time code for otp_auth to a contact of a user of this organization."""
    check_logins_by_code(execution.organization, intent.otp_type)
    otp_id, _, rows = await _start_code(execution, intent, "auth")
    return OutputWithoutChanges(result=InitOtpAuthResultV2(otp_id=otp_id), attachments=rows)


async def _start_code(
    execution: ExecutionWith[CodeCounts], intent: InitOtpIntentV3, flow: Flow
) -> tuple[str, str, tuple[VersionedRow, ...]]:
    """Make a code. Returns its id, the bundle with the key that it is encrypted to ("" in older flows), and the
    rows."""
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
    counts = () if sandbox else _counts_with(execution.context, row)
    rows = (row, *counts, *([message] if message else []))
    return otp_id, target.bundle if target else "", rows


def _counts_with(counts: CodeCounts, code: OneTimeCode) -> tuple[CodeCount, ...]:
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
            "Max number of OTPs have been initiated: field `parameters.userIdentifier`: this user has "
            "started as many codes as it may in a short time; wait some minutes"
        )
    start = CodeStart(code.id, now_ms, code.expires_at_ms)
    return tuple(count.with_start(start) for count in (counts.contact, counts.user) if count is not None)


async def _message(
    execution: ExecutionWith[CodeCounts], intent: InitOtpIntentV3, contact: str, code: str, lasts_s: int
) -> OutgoingMessage:
    channel: MessageChannel = "email" if intent.otp_type is OtpType.EMAIL else "sms"
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
