"""The parameters and results of init_otp and init_otp_auth, and how older versions become the newest.

Not here: the operations (`starting_codes`).
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from keystead.api.enums import OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import RequestStruct, ShortText
from keystead.api.records import Wire
from keystead.operations.logins.message_origins import (
    EmailCustomizationParams,
    EmailCustomizationParamsV2,
    SmsCustomizationParams,
)

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


def _app_name(customization: EmailCustomizationParams | None) -> str:
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
