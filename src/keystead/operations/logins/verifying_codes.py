"""verify_otp: exchanges the right code for a verification token. The third wrong code locks the code.

Here: the check for every use of a code. Not here: starting codes (`starting_codes`), the use of tokens
(`verification_tokens`).
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.api.errors import InvalidRequest, LimitReached
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct
from keystead.api.records import Wire
from keystead.chains.bounds import BUNDLE_MESSAGE_CHARACTERS_MAX
from keystead.chains.bundle_texts import compress_point, read_message, read_target
from keystead.operations.bounds import VERIFICATION_TOKEN_LIFE_MAX_S
from keystead.operations.declare import activity, older
from keystead.operations.logins.message_context import stored_window
from keystead.operations.logins.starting_codes import Flow, Seconds, checked_seconds
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.contacts.contacts import normalized_contact
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.organizations.contacts.sending_windows import (
    OF_CONTACT,
    SendingWindow,
    contact_subject,
    with_attempt,
    with_code_used,
)
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import Execution, ExecutionWith, OutputWithoutChanges, RefusalWithRows
from keystead.pipeline.signer_values import ClientMessage
from keystead.sessions.bounds import CODE_ATTEMPTS_MAX
from keystead.sessions.one_time_codes import canonical_code
from keystead.sessions.verification_tokens import VerificationToken

TOKEN_LIFE_DEFAULT_S = 3_600

OtpCode = Annotated[str, Meta(max_length=64)]
_OPERATIONS: Mapping[Flow, str] = {
    "encrypted": "verify_otp with encryptedOtpBundle",
    "plain": "verify_otp",
    "auth": "otp_auth",
}
"""The operation that takes the code of each flow."""


class VerifyOtpIntentV2(RequestStruct, frozen=True, kw_only=True):
    """`encrypted_otp_bundle`: JSON text with the code and a public key, encrypted to the key from init_otp.

    `expiration_seconds`: of the token, decimal text, at most 86400; 3600 if absent.
    """

    otp_id: Uuid
    encrypted_otp_bundle: Annotated[str, Meta(max_length=BUNDLE_MESSAGE_CHARACTERS_MAX)]
    expiration_seconds: Seconds | None = None


class VerifyOtpIntent(RequestStruct, frozen=True, kw_only=True):
    """`public_key`: P-256 in hex, the key in the token."""

    otp_id: Uuid
    otp_code: OtpCode
    expiration_seconds: Seconds | None = None
    public_key: Annotated[str, Meta(max_length=130)] | None = None


class _PlainAttempt(VerifyOtpIntentV2, frozen=True, kw_only=True):
    """A request of the older version, which has the code in plaintext."""

    otp_code: str
    public_key: str | None


class VerifyOtpResult(Wire, frozen=True):
    """`verification_token`: a JWT that proves that the contact got the code. A token without a key is in one answer
    only. In the record of the activity it is ""."""

    verification_token: str


class StoredCode(msgspec.Struct, frozen=True):
    """The code that a request names; None if it does not exist. `window`: of its contact; None if the attempts at
    the code are not counted."""

    code: OneTimeCode | None
    window: SendingWindow | None


async def stored_code(source: ContextSource, otp_id: str) -> StoredCode:
    """The code of this id, with the window of its contact."""
    code = await source.store.attached.get(OneTimeCode, source.organization.id, otp_id)
    if code is None or code.room is None:
        return StoredCode(code, None)
    subject = contact_subject(code.room, normalized_contact(code.otp_type, code.contact))
    return StoredCode(code, await stored_window(source, subject))


async def _load_code(source: ContextSource, intent: VerifyOtpIntentV2) -> StoredCode:
    return await stored_code(source, intent.otp_id)


def _from_v1(intent: VerifyOtpIntent) -> VerifyOtpIntentV2:
    return _PlainAttempt(
        otp_id=intent.otp_id,
        encrypted_otp_bundle="",
        expiration_seconds=intent.expiration_seconds,
        otp_code=intent.otp_code,
        public_key=intent.public_key,
    )


@activity(
    "ACTIVITY_TYPE_VERIFY_OTP_V2",
    accepts=(older("ACTIVITY_TYPE_VERIFY_OTP", _from_v1),),
    load_context=_load_code,
)
async def verify_otp(
    execution: ExecutionWith[StoredCode], intent: VerifyOtpIntentV2
) -> OutputWithoutChanges[VerifyOtpResult] | RefusalWithRows:
    """Exchange a one-time code for a verification token."""
    lasts_s = checked_seconds(
        intent.expiration_seconds, "verification token", TOKEN_LIFE_DEFAULT_S, VERIFICATION_TOKEN_LIFE_MAX_S
    )
    flow: Flow = "plain" if isinstance(intent, _PlainAttempt) else "encrypted"
    counted = counted_attempt(execution, execution.context, flow)
    code = counted.code
    if isinstance(intent, _PlainAttempt):
        typed, public_key = intent.otp_code, intent.public_key
    else:
        assert code.target is not None, "the encrypted flow has a target"
        attempt = await execution.signer.open_otp_attempt(
            organization_id=execution.organization.id,
            data_key=execution.organization.data_key.sealed,
            otp_id=code.id,
            sealed=code.target,
            message=ClientMessage(*read_message(intent.encrypted_otp_bundle, "parameters.encryptedOtpBundle")),
        )
        typed, public_key = attempt.code, attempt.public_key
    named_key = compress_point(read_target(public_key, "public_key of the attempt")).hex() if public_key else None
    if (refused := await refused_attempt(execution, counted, typed)) is not None:
        return refused
    token = await execution.signer.sign_verification_token(
        VerificationToken(
            id=execution.new_id(),
            organization_id=execution.organization.id,
            otp_type=code.otp_type,
            contact=code.contact,
            expires_at_ms=execution.now_ms + lasts_s * 1000,
            public_key=named_key,
        )
    )
    return OutputWithoutChanges(
        result=VerifyOtpResult(verification_token=token),
        # Anybody who knows a token without a key can use it. It is in this one answer, and nowhere on record.
        recorded_result=VerifyOtpResult(verification_token="") if named_key is None else None,
        attachments=used_code_rows(execution, counted),
    )


class CountedAttempt(msgspec.Struct, frozen=True):
    """An attempt at a code that may still be tried. `windows`: the row that counts it, to commit with it."""

    code: OneTimeCode
    windows: tuple[SendingWindow, ...]


def counted_attempt(execution: Execution, stored: StoredCode, flow: Flow) -> CountedAttempt:
    """Count an attempt at the stored code. Raises InvalidRequest if this flow may not try it, LimitReached if its
    contact has no room."""
    code = stored.code
    if code is None:
        raise InvalidRequest("Invalid OTP code: field `parameters.otpId`: no code with this id was sent here")
    if code.flow != flow:
        raise InvalidRequest(
            f"Invalid OTP code: field `parameters.otpId`: this code is for {_OPERATIONS[code.flow]}"
        )
    if not code.is_open(execution.now_ms):
        if code.used_at_ms is not None:
            reason = "it was used before"
        elif code.attempts >= CODE_ATTEMPTS_MAX:
            reason = "it is locked after too many wrong attempts"
        else:
            reason = "it has expired"
        raise InvalidRequest(f"Invalid OTP code: {reason}; ask for a new one")
    if stored.window is None:
        return CountedAttempt(code, ())
    window = with_attempt(stored.window, OF_CONTACT, execution.now_ms)
    if window is None:
        raise LimitReached(
            f"Invalid OTP code: {OF_CONTACT.attempts_max} codes were tried for this contact in "
            f"{OF_CONTACT.lasts_ms // 60_000} minutes; wait, and ask for a new one"
        )
    return CountedAttempt(code, (window,))


async def refused_attempt(execution: Execution, attempt: CountedAttempt, typed: str) -> RefusalWithRows | None:
    """None if the typed code is right; otherwise the refusal, with the rows of the attempt."""
    code = attempt.code
    digest = await execution.signer.code_digest(
        organization_id=execution.organization.id,
        data_key=execution.organization.data_key.sealed,
        otp_id=code.id,
        code=canonical_code(typed, code.form),
    )
    if hmac.compare_digest(digest, code.digest):
        return None
    wrong = code.after_wrong_attempt()
    attempts_left = CODE_ATTEMPTS_MAX - wrong.attempts
    return RefusalWithRows(
        error=InvalidRequest(f"Invalid OTP code: wrong code; attempts left: {attempts_left}"),
        rows=(wrong, *attempt.windows),
    )


def used_code_rows(execution: Execution, attempt: CountedAttempt) -> tuple[VersionedRow, ...]:
    """The rows of the attempt that used a code."""
    used = attempt.code.after_use(execution.now_ms)
    return used, *(with_code_used(window, used.attempts) for window in attempt.windows)
