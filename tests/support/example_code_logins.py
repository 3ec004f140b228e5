"""One valid request for every activity type of one-time codes, of logins by e-mail and of recovery."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from keystead.sessions.one_time_codes import SANDBOX_CODE
from tests.support import bundles
from tests.support.callers import unique
from tests.support.example_codes import customization, full_params, older_params
from tests.support.organization_fixtures import RecordIds
from tests.support.passkeys import SoftPasskey

TARGET_PUBLIC_KEY = bundles.point(bundles.fresh()).hex()


def _encrypted_attempt(record_ids: RecordIds) -> dict[str, Any]:
    otp_id, _, attempt = record_ids.fresh("encrypted_otp").partition(" ")
    return {"otpId": otp_id, "encryptedOtpBundle": attempt, "expirationSeconds": "60"}


def _otp_login(record_ids: RecordIds, kind: str) -> dict[str, Any]:
    given = record_ids.fresh(kind)
    signature = {"publicKey": "02", "scheme": "s", "message": "m", "signature": "30"}
    unknown = {"verificationToken": given, "publicKey": TARGET_PUBLIC_KEY, "clientSignature": signature}
    asked: dict[str, Any] = json.loads(given) if given.startswith("{") else unknown
    return asked | {"expirationSeconds": "60", "invalidateExisting": True, "sessionProfileId": ""}


def _email_auth(record_ids: RecordIds) -> dict[str, Any]:
    custom = customization()
    del custom["smsCustomization"]
    custom["emailCustomization"]["appName"] = "Wallets"
    return {
        "email": record_ids.fresh("email_auth"),
        "targetPublicKey": TARGET_PUBLIC_KEY,
        "apiKeyName": unique("key"),
        "expirationSeconds": "60",
        "invalidateExisting": True,
        **custom,
    }


def _email_recovery(record_ids: RecordIds) -> dict[str, Any]:
    parameters = _email_auth(record_ids) | {"email": record_ids.fresh("email_recovery")}
    del parameters["apiKeyName"], parameters["invalidateExisting"]
    return parameters


def _with_otp_feature(record_ids: RecordIds, parameters: dict[str, Any]) -> dict[str, Any]:
    record_ids.fresh("otp_feature")
    return parameters


CODE_LOGINS: dict[str, Callable[[RecordIds], dict[str, Any]]] = {
    "ACTIVITY_TYPE_INIT_OTP_V3": lambda f: full_params(),
    "ACTIVITY_TYPE_INIT_OTP_V2": lambda f: full_params(),
    "ACTIVITY_TYPE_INIT_OTP": lambda f: older_params(),
    "ACTIVITY_TYPE_INIT_OTP_AUTH_V3": lambda f: _with_otp_feature(f, full_params()),
    "ACTIVITY_TYPE_INIT_OTP_AUTH_V2": lambda f: _with_otp_feature(f, older_params("expirationSeconds")),
    "ACTIVITY_TYPE_INIT_OTP_AUTH": lambda f: _with_otp_feature(
        f, older_params("expirationSeconds", "otpLength", "alphanumeric")
    ),
    "ACTIVITY_TYPE_EMAIL_AUTH_V3": lambda f: _email_auth(f),
    "ACTIVITY_TYPE_EMAIL_AUTH_V2": lambda f: _email_auth(f),
    "ACTIVITY_TYPE_EMAIL_AUTH": lambda f: _email_auth(f),
    "ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY_V2": lambda f: _email_recovery(f),
    "ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY": lambda f: _email_recovery(f),
    "ACTIVITY_TYPE_RECOVER_USER": lambda f: {"userId": f.root_user_id, "authenticator": SoftPasskey().params()},
    "ACTIVITY_TYPE_OTP_AUTH": lambda f: {
        "otpId": f.fresh("otp_auth"),
        "otpCode": SANDBOX_CODE,
        "targetPublicKey": TARGET_PUBLIC_KEY,
        "apiKeyName": unique("key"),
        "expirationSeconds": "60",
        "invalidateExisting": True,
    },
    "ACTIVITY_TYPE_OTP_LOGIN_V2": lambda f: _otp_login(f, "otp_login"),
    "ACTIVITY_TYPE_OTP_LOGIN": lambda f: _otp_login(f, "otp_login_of_older_token"),
    "ACTIVITY_TYPE_VERIFY_OTP_V2": _encrypted_attempt,
    "ACTIVITY_TYPE_VERIFY_OTP": lambda f: {
        "otpId": f.fresh("plain_otp"),
        "otpCode": SANDBOX_CODE,
        "expirationSeconds": "60",
        "publicKey": TARGET_PUBLIC_KEY,
    },
}
