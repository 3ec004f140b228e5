"""Client signatures: each member that is wrong is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keystead.api.enums import OtpType
from keystead.sessions.client_signatures import (
    InvalidClientSignature,
    check_login_signature,
    check_signup_signature,
)
from keystead.sessions.verification_tokens import VerificationToken

KEY = ec.derive_private_key(7, ec.SECP256R1())
OTHER_KEY = ec.derive_private_key(8, ec.SECP256R1())


def hex_of(key: ec.EllipticCurvePrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint).hex()


TOKEN = VerificationToken(
    id="token",
    organization_id="organization",
    otp_type=OtpType.EMAIL,
    contact="user@example.com",
    expires_at_ms=1,
    public_key=hex_of(KEY),
)
LOGIN = {"login": {"publicKey": "02ab"}, "tokenId": "token", "type": "USAGE_TYPE_LOGIN"}
SIGNUP = {
    "signupV2": {"apiKeys": [{"apiKeyName": "a"}], "email": "user@example.com"},
    "tokenId": "token",
    "type": "USAGE_TYPE_SIGNUP",
}


def signed(message: Any, key: ec.EllipticCurvePrivateKey = KEY) -> dict[str, str]:
    text = message if isinstance(message, str) else json.dumps(message)
    r, s = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(SHA256())))
    return {"public_key": hex_of(key), "message": text, "signature": f"{r:064x}{s:064x}"}


def test_a_login_is_confirmed() -> None:
    check_login_signature(**signed(LOGIN), token=TOKEN, session_public_key="02AB")


@pytest.mark.parametrize(
    ("given", "session_public_key"),
    [
        pytest.param(signed(LOGIN), "02ac", id="another session key"),
        pytest.param(signed(LOGIN, OTHER_KEY), "02ab", id="another key than the token's"),
        pytest.param(signed({**LOGIN, "tokenId": "other"}), "02ab", id="another token"),
        pytest.param(signed({**LOGIN, "type": "USAGE_TYPE_SIGNUP"}), "02ab", id="another usage"),
        pytest.param(signed({"tokenId": "token", "type": "USAGE_TYPE_LOGIN"}), "02ab", id="no login"),
        pytest.param(signed({**LOGIN, "more": 1}), "02ab", id="an unknown member"),
        pytest.param(signed("[]"), "02ab", id="not an object"),
        pytest.param(signed("[" * 50_000), "02ab", id="nested without end"),
        pytest.param(
            {**signed(LOGIN), "message": json.dumps(LOGIN) + " "}, "02ab", id="another message than signed"
        ),
        pytest.param({**signed(LOGIN), "signature": "00" * 64}, "02ab", id="r and s of zero"),
        pytest.param({**signed(LOGIN), "signature": "zz"}, "02ab", id="not hex"),
        pytest.param({**signed(LOGIN), "signature": ""}, "02ab", id="no signature"),
    ],
)
def test_a_login_is_refused(given: dict[str, str], session_public_key: str) -> None:
    with pytest.raises(InvalidClientSignature):
        check_login_signature(**given, token=TOKEN, session_public_key=session_public_key)


REQUESTED = {"apiKeys": [{"apiKeyName": "a"}], "authenticators": [], "email": "user@example.com"}


@pytest.mark.parametrize(
    ("message", "requested", "confirmed"),
    [
        pytest.param(SIGNUP, REQUESTED, True, id="equal but for an empty list"),
        pytest.param(
            {**SIGNUP, "signup": SIGNUP["signupV2"], "signupV2": None}, REQUESTED, True, id="older member"
        ),
        pytest.param(SIGNUP, {**REQUESTED, "apiKeys": [{"apiKeyName": "b"}]}, False, id="another API key"),
        pytest.param(SIGNUP, {**REQUESTED, "apiKeys": []}, False, id="fewer API keys than signed"),
        pytest.param(SIGNUP, {**REQUESTED, "authenticators": [{"a": 1}]}, False, id="more than signed"),
        pytest.param(SIGNUP, {**REQUESTED, "email": "other@example.com"}, False, id="another e-mail"),
        pytest.param(SIGNUP, {**REQUESTED, "phoneNumber": "+1"}, False, id="a phone number that was not signed"),
        pytest.param(LOGIN, REQUESTED, False, id="a login's signature"),
    ],
)
def test_a_signup(message: dict[str, Any], requested: dict[str, Any], confirmed: bool) -> None:
    given = signed(message)
    if confirmed:
        check_signup_signature(**given, token=TOKEN, requested=requested)
    else:
        with pytest.raises(InvalidClientSignature):
            check_signup_signature(**given, token=TOKEN, requested=requested)


def test_a_token_without_a_key_confirms_nothing() -> None:
    keyless = VerificationToken(
        id="token", organization_id="", otp_type=OtpType.EMAIL, contact="", expires_at_ms=1, public_key=None
    )
    with pytest.raises(InvalidClientSignature):
        check_login_signature(**signed(LOGIN), token=keyless, session_public_key="02ab")
