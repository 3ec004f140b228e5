"""Sign-ups and logins by one-time code through the authentication proxy, on both stores."""

from __future__ import annotations

import secrets
import time
from typing import Any

from keystead.stamps.signing import generate_api_key
from tests.server.test_auth_proxy import ask, new_proxy, sign_up
from tests.support.callers import Caller, answered, api_key_params, refusal
from tests.support.codes import KEY, PUBLIC_KEY, Codes, signup_signature
from tests.support.example_codes import an_address, claims, encrypted_attempt, login_signature

OF_ANOTHER = "invalid verification token: it is for another organization or another contact"


def a_number() -> str:
    return f"+1415{secrets.randbelow(10**7):07}"


def proven(codes: Codes, config_id: str, contact: str, otp_type: str = "OTP_TYPE_EMAIL") -> str:
    """A verification token for a contact, by way of the proxy."""
    before = len(codes.outbox.messages(contact))
    begun = answered(ask(codes.caller, config_id, "otp_init_v2", otpType=otp_type, contact=contact))
    code = codes.outbox.code(contact, count=before + 1)
    attempt = encrypted_attempt(begun["otpEncryptionTargetBundle"], code, PUBLIC_KEY)
    asked = {"otpId": begun["otpId"], "encryptedOtpBundle": attempt}
    token: str = answered(ask(codes.caller, config_id, "otp_verify_v2", **asked))["verificationToken"]
    return token


def signed_up(caller: Caller, config_id: str, contact: str, token: str) -> str:
    asked = sign_up(
        userEmail=contact, verificationToken=token, clientSignature=signup_signature(token, email=contact)
    )
    made: str = answered(ask(caller, config_id, "signup_v2", **asked))["organizationId"]
    return made


def account(caller: Caller, config_id: str, contact: str, token: str) -> Any:
    asked = {"filterType": "EMAIL", "filterValue": contact, "verificationToken": token}
    return answered(ask(caller, config_id, "account", **asked))


def test_sign_up_and_log_in_by_code(codes: Codes) -> None:
    config_id = new_proxy(codes.caller, sessionExpirationSeconds=600, verificationTokenExpirationSeconds=1200)
    contact = an_address()
    token = proven(codes, config_id, contact)
    assert abs(int(claims(token)["exp"]) / 1000 - time.time() - 1200) < 60
    assert account(codes.caller, config_id, contact, token) == {}
    organization_id = signed_up(codes.caller, config_id, contact, token)
    token = proven(codes, config_id, contact)
    assert account(codes.caller, config_id, contact.upper(), token) == {"organizationId": organization_id}
    key = generate_api_key().public_key
    login: dict[str, Any] = {
        "verificationToken": token,
        "publicKey": key,
        "clientSignature": login_signature(token, key, KEY),
    }
    session = claims(answered(ask(codes.caller, config_id, "otp_login_v2", **login))["session"])
    assert (session["organization_id"], session["public_key"]) == (organization_id, key)
    assert abs(session["exp"] - time.time() - 600) < 60


def older_token(codes: Codes, config_id: str, contact: str, **public_key: str) -> str:
    """A verification token by way of the endpoints of the first version: the code is sent in the clear."""
    before = len(codes.outbox.messages(contact))
    begun = answered(ask(codes.caller, config_id, "otp_init", otpType="OTP_TYPE_EMAIL", contact=contact))
    assert begun.keys() == {"otpId"}, "the first version has no key to encrypt a code to"
    code = codes.outbox.code(contact, count=before + 1)
    asked = {"otpId": begun["otpId"], "otpCode": code, **public_key}
    token: str = answered(ask(codes.caller, config_id, "otp_verify", **asked))["verificationToken"]
    return token


def test_endpoints_of_the_first_version(codes: Codes) -> None:
    """Without a key the token is enough for a login; with one, the login is signed by it."""
    config_id = new_proxy(codes.caller, sessionExpirationSeconds=600, verificationTokenExpirationSeconds=1200)
    contact = an_address()
    token = older_token(codes, config_id, contact, publicKey=PUBLIC_KEY)
    assert abs(int(claims(token)["exp"]) / 1000 - time.time() - 1200) < 60
    assert (claims(token)["contact"], claims(token)["public_key"]) == (contact, PUBLIC_KEY)
    organization_id = signed_up(codes.caller, config_id, contact, token)
    unsigned = older_token(codes, config_id, contact)
    signed = older_token(codes, config_id, contact, publicKey=PUBLIC_KEY)
    for token in (unsigned, signed):
        key = generate_api_key().public_key
        login: dict[str, Any] = {"verificationToken": token, "publicKey": key}
        if token == signed:
            status, message = refusal(ask(codes.caller, config_id, "otp_login", **login))
            assert (status, "clientSignature" in message) == (400, True), message
            login["clientSignature"] = login_signature(token, key, KEY)
        session = claims(answered(ask(codes.caller, config_id, "otp_login", **login))["session"])
        assert (session["organization_id"], session["public_key"]) == (organization_id, key)
        assert abs(session["exp"] - time.time() - 600) < 60


def test_a_phone_number_that_is_proven_finds_its_account(codes: Codes) -> None:
    config_id = new_proxy(codes.caller, allowedAuthMethods=["sms", "passkey"])
    number, other = a_number(), a_number()
    token = proven(codes, config_id, number, "OTP_TYPE_SMS")
    asked = {"filterType": "PHONE_NUMBER", "verificationToken": token}
    assert answered(ask(codes.caller, config_id, "account", filterValue=number, **asked)) == {}
    signature = signup_signature(token, phoneNumber=number)
    members = sign_up(userPhoneNumber=number, verificationToken=token, clientSignature=signature)
    organization_id = answered(ask(codes.caller, config_id, "signup_v2", **members))["organizationId"]
    for spelled in (number, f"{number[:2]} ({number[2:5]}) {number[5:8]}-{number[8:]}"):
        found = ask(codes.caller, config_id, "account", filterValue=spelled, **asked)
        assert answered(found) == {"organizationId": organization_id}
    for wrong in ({"filterValue": other}, {"filterType": "EMAIL", "filterValue": number}):
        status, message = refusal(ask(codes.caller, config_id, "account", **{**asked, **wrong}))
        assert (status, message) == (401, OF_ANOTHER)


def test_a_token_of_another_contact_finds_nobody(codes: Codes) -> None:
    config_id = new_proxy(codes.caller)
    contact, other = an_address(), an_address()
    signed_up(codes.caller, config_id, contact, proven(codes, config_id, contact))
    asked = {"filterType": "EMAIL", "filterValue": contact}
    token = proven(codes, config_id, other)
    status, message = refusal(ask(codes.caller, config_id, "account", verificationToken=token, **asked))
    assert (status, message) == (401, OF_ANOTHER)


def test_an_account_that_somebody_made_with_anothers_address_is_not_found(codes: Codes) -> None:
    """A person who signs up with a key may give any address. It finds no account until it is proved."""
    config_id = new_proxy(codes.caller)
    contact = an_address()
    key = api_key_params(generate_api_key().public_key)
    answered(ask(codes.caller, config_id, "signup_v2", **sign_up(apiKeys=[key], userEmail=contact)))
    token = proven(codes, config_id, contact)
    assert account(codes.caller, config_id, contact, token) == {}
    organization_id = signed_up(codes.caller, config_id, contact, token)
    assert account(codes.caller, config_id, contact, token) == {"organizationId": organization_id}


def test_a_wrong_code_in_the_words_that_clients_match(codes: Codes) -> None:
    config_id = new_proxy(codes.caller, otpAlphanumeric=False, otpLength=6)
    contact = an_address()
    begun = answered(ask(codes.caller, config_id, "otp_init_v2", otpType="OTP_TYPE_EMAIL", contact=contact))
    right = codes.outbox.code(contact)
    wrong = f"{(int(right) + 1) % 1_000_000:06}"
    attempt = encrypted_attempt(begun["otpEncryptionTargetBundle"], wrong, PUBLIC_KEY)
    asked = {"otpId": begun["otpId"], "encryptedOtpBundle": attempt}
    assert "Invalid OTP code" in refusal(ask(codes.caller, config_id, "otp_verify_v2", **asked))[1]
