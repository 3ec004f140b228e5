"""One-time codes in examples: what init_otp and verify_otp are asked, and attempts at sandbox codes.

A sandbox contact always gets the same code, and nothing is sent. Not here: the outbox.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from keystead.sessions.one_time_codes import SANDBOX_CODE
from keystead.stamps.base64url import decode_base64url
from tests.support import bundles
from tests.support.callers import Caller, unique

SANDBOX: dict[str, Any] = {
    "otpType": "OTP_TYPE_EMAIL",
    "contact": "user@example.com",
    "alphanumeric": False,
    "otpLength": 6,
}


def target_of(bundle: str) -> bytes:
    """The key (65 bytes) in an OTP target bundle. Its signature is not verified."""
    content = json.loads(bytes.fromhex(json.loads(bundle)["data"]))
    return bytes.fromhex(content["targetPublic"])


def encrypted_attempt(bundle: str, code: str, public_key: str) -> str:
    """What verify_otp takes: `public_key` is the compressed hex that the token shall name."""
    attempt = json.dumps({"otp_code": code, "public_key": public_key}).encode()
    return bundles.message(attempt, target_of(bundle))


def an_address() -> str:
    return f"ada-{secrets.token_hex(6)}@example.com"


def code_params(contact: str, **others: Any) -> dict[str, Any]:
    return {"otpType": "OTP_TYPE_EMAIL", "contact": contact, "appName": "Wallets", **others}


def full_params(**others: Any) -> dict[str, Any]:
    """Every optional field of the newest version."""
    return code_params(
        an_address(),
        otpLength=8,
        alphanumeric=True,
        userIdentifier=unique("user"),
        expirationSeconds="120",
        **customization(),
        **others,
    )


def customization() -> dict[str, Any]:
    return {
        "emailCustomization": {
            "logoUrl": "https://example.com/logo.png",
            "magicLinkTemplate": "https://example.com/login?code=%s",
            "templateVariables": '{"greeting": "hello"}',
            "templateId": "template",
        },
        "smsCustomization": {"template": "Code: {{.OtpCode}}"},
        "sendFromEmailAddress": "wallets@example.com",
        "sendFromEmailSenderName": "Wallets",
        "replyToEmailAddress": "help@example.com",
    }


def older_params(*without: str) -> dict[str, Any]:
    """Every optional field of the first version, but for these."""
    given = full_params()
    given["emailCustomization"]["appName"] = given.pop("appName")
    return {name: value for name, value in given.items() if name not in without}


def encrypted_sandbox_code(caller: Caller) -> str:
    """The id of a code and an attempt at it, with a blank between them."""
    begun = caller.result("init_otp", {**SANDBOX, "appName": "Wallets"})
    attempt = encrypted_attempt(
        begun["otpEncryptionTargetBundle"], SANDBOX_CODE, bundles.compressed(bundles.fresh()).hex()
    )
    return f"{begun['otpId']} {attempt}"


def login_parameters(caller: Caller, *, signed: bool) -> str:
    """What otp_login takes for the user with the sandbox contact, as JSON. `signed`: with a client signature."""
    key, session = bundles.fresh(), bundles.compressed(bundles.fresh()).hex()
    if signed:
        begun = caller.result("init_otp", {**SANDBOX, "appName": "Wallets"})
        attempt = encrypted_attempt(begun["otpEncryptionTargetBundle"], SANDBOX_CODE, bundles.compressed(key).hex())
        asked = {"otpId": begun["otpId"], "encryptedOtpBundle": attempt}
        token = caller.result("verify_otp", asked)["verificationToken"]
    else:
        otp_id = sandbox_code(caller, "init_otp", "ACTIVITY_TYPE_INIT_OTP_V2")
        asked = {"otpId": otp_id, "otpCode": SANDBOX_CODE, "publicKey": bundles.compressed(key).hex()}
        token = caller.result("verify_otp", asked, type="ACTIVITY_TYPE_VERIFY_OTP")["verificationToken"]
    signature = login_signature(token, session, key)
    return json.dumps({"verificationToken": token, "publicKey": session, "clientSignature": signature})


def claims(token: str) -> dict[str, Any]:
    """The claims of a JWT. Its signature is not verified."""
    read: dict[str, Any] = json.loads(decode_base64url(token.split(".")[1]))
    return read


def client_signature(message: dict[str, Any], key: ec.EllipticCurvePrivateKey) -> dict[str, str]:
    text = json.dumps(message)
    r, s = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return {
        "publicKey": bundles.compressed(key).hex(),
        "scheme": "CLIENT_SIGNATURE_SCHEME_API_P256",
        "message": text,
        "signature": (r.to_bytes(32) + s.to_bytes(32)).hex(),
    }


def login_signature(token: str, public_key: str, key: ec.EllipticCurvePrivateKey) -> dict[str, str]:
    message = {"login": {"publicKey": public_key}, "tokenId": claims(token)["id"], "type": "USAGE_TYPE_LOGIN"}
    return client_signature(message, key)


def sandbox_code(caller: Caller, operation: str, activity_type: str) -> str:
    """The id of a code of an older flow."""
    begun = caller.result(operation, {**SANDBOX, "appName": "Wallets"}, type=activity_type)
    return str(begun["otpId"])
