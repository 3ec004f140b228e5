"""Whose a contact is that several sub-organizations have: for logins that name the parent, and for the proxy."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.server.test_auth_proxy import ask, new_proxy
from tests.support import bundles
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, refusal
from tests.support.codes import KEY, Codes
from tests.support.example_codes import an_address, claims, encrypted_attempt, login_signature
from tests.support.sessions import attested

VERIFIED, WRITTEN_DOWN = True, False


@pytest.fixture(scope="module")
def codes(unshared_codes: Codes) -> Codes:
    return unshared_codes


class Contact(NamedTuple):
    otp_type: str
    filter_type: str
    update: str
    field: str
    fresh: Callable[[], str]


EMAIL = Contact("OTP_TYPE_EMAIL", "EMAIL", "update_user_email", "userEmail", an_address)
SMS = Contact(
    "OTP_TYPE_SMS",
    "PHONE_NUMBER",
    "update_user_phone_number",
    "userPhoneNumber",
    lambda: f"+1415{secrets.randbelow(10**7):07}",
)

OWNERS: list[tuple[str, list[bool], int | None]] = [
    ("one who wrote it down", [WRITTEN_DOWN], 0),
    ("one who verified it", [VERIFIED], 0),
    ("a verified one before one who wrote it down", [WRITTEN_DOWN, VERIFIED], 1),
    ("a verified one among several who wrote it down", [WRITTEN_DOWN, VERIFIED, WRITTEN_DOWN], 1),
    ("several who wrote it down", [WRITTEN_DOWN, WRITTEN_DOWN], None),
    ("several who verified it", [VERIFIED, VERIFIED], None),
    ("several who verified it, and one who wrote it down", [VERIFIED, WRITTEN_DOWN, VERIFIED], None),
]


def token_for(codes: Codes, contact: str, kind: Contact, public_key: str) -> str:
    """A verification token of the parent that names this key."""
    before = len(codes.outbox.messages(contact))
    begun = codes.started(contact, otpType=kind.otp_type)
    code = codes.outbox.code(contact, count=before + 1)
    attempt = encrypted_attempt(begun["otpEncryptionTargetBundle"], code, public_key)
    asked = {"otpId": begun["otpId"], "encryptedOtpBundle": attempt}
    token: str = codes.caller.result("verify_otp", asked)["verificationToken"]
    return token


def owners_of(codes: Codes, contact: str, kind: Contact, verified: list[bool]) -> list[str]:
    """The ids of new sub-organizations with this contact, in the order of `verified`."""
    made = []
    for is_verified in verified:
        user = new_sub_organization(codes.caller)
        asked = {"userId": user.user_id, kind.field: contact}
        if is_verified:
            asked["verificationToken"] = codes.proven(contact, otpType=kind.otp_type)
        user.submitted(kind.update, asked)
        made.append(user.organization_id)
    return made


def otp_login(codes: Codes, contact: str, kind: Contact) -> httpx.Response:
    session = generate_api_key().public_key
    token = codes.proven(contact, otpType=kind.otp_type)
    asked = {
        "verificationToken": token,
        "publicKey": session,
        "clientSignature": login_signature(token, session, KEY),
    }
    return codes.caller.submit("otp_login", asked, SDK_FORM)


def attested_login(codes: Codes, contact: str, kind: Contact) -> httpx.Response:
    key = generate_api_key()
    body = codes.caller.submit_body("stamp_login", {"publicKey": key.public_key})
    headers = attested(key, "VERIFICATION_TOKEN", token_for(codes, contact, kind, key.public_key), body)
    return codes.caller.http.post("/public/v1/submit/stamp_login", content=body, headers=headers | SDK_FORM)


def organization_in(response: httpx.Response) -> str:
    (result,) = answered(response)["activity"]["result"].values()
    found: str = claims(result["session"])["organization_id"]
    return found


Login = Callable[[Codes, str, Contact], httpx.Response]


@pytest.mark.parametrize("kind", [EMAIL, SMS], ids=["e-mail", "SMS"])
@pytest.mark.parametrize(("name", "verified", "expected"), OWNERS, ids=[name for name, _, _ in OWNERS])
def test_whose_a_contact_is(
    codes: Codes, name: str, verified: list[bool], expected: int | None, kind: Contact
) -> None:
    contact = kind.fresh()
    made = owners_of(codes, contact, kind, verified)
    config_id = new_proxy(codes.caller)
    asked = {"filterType": kind.filter_type, "filterValue": contact}
    asked["verificationToken"] = codes.proven(contact, otpType=kind.otp_type)
    account = ask(codes.caller, config_id, "account", **asked)
    if expected is None:
        for response in (account, otp_login(codes, contact, kind), attested_login(codes, contact, kind)):
            status, message = refusal(response)
            assert (status, "more than one suborg associated with a verified" in message) == (401, True), message
        return
    assert answered(account) == {"organizationId": made[expected]}
    # A login verifies the contact, so each way to log in begins from owners of its own.
    logins: tuple[Login, ...] = (otp_login, attested_login)
    for login in logins:
        contact = kind.fresh()
        made = owners_of(codes, contact, kind, verified)
        assert organization_in(login(codes, contact, kind)) == made[expected], login.__name__


def test_in_one_organization_the_user_with_the_verified_address_logs_in(codes: Codes) -> None:
    """Others of the organization may write down the address, too: it is still the address of who proved it."""
    address = an_address()
    user = new_sub_organization(codes.caller)
    asked = {"userId": user.user_id, "userEmail": address}
    user.submitted("update_user_email", asked | {"verificationToken": codes.proven(address)})
    user.new_user(userEmail=address)
    at = Caller(user.http, user.organization_id, codes.caller.user_id, codes.caller.key)
    client = bundles.fresh()
    sent = {
        "email": address,
        "targetPublicKey": bundles.point(client).hex(),
        "emailCustomization": {"appName": "Wallets"},
    }
    assert at.result("email_auth", sent)["userId"] == user.user_id
    codes.outbox.wait_for(address, count=2)
    for response in (otp_login(codes, address, EMAIL), attested_login(codes, address, EMAIL)):
        (result,) = answered(response)["activity"]["result"].values()
        assert claims(result["session"])["user_id"] == user.user_id


SWITCHED_OFF: list[tuple[Contact, dict[str, Any], str]] = [
    (EMAIL, {"disableOtpEmailAuth": True}, "FEATURE_NAME_OTP_EMAIL_AUTH is not enabled"),
    (SMS, {"disableSmsAuth": True}, "FEATURE_NAME_SMS_AUTH is not enabled"),
]


@pytest.mark.parametrize(("kind", "switch", "text"), SWITCHED_OFF, ids=["e-mail", "SMS"])
@pytest.mark.parametrize("login", [otp_login, attested_login], ids=["otp_login", "an attested stamp"])
def test_logins_by_code_that_are_switched_off(
    codes: Codes, kind: Contact, switch: dict[str, Any], text: str, login: Login
) -> None:
    contact = kind.fresh()
    user = new_sub_organization(codes.caller, **switch)
    user.submitted(kind.update, {"userId": user.user_id, kind.field: contact})
    status, message = refusal(login(codes, contact, kind))
    assert (status, text in message) == (400, True), message


def test_a_parents_own_user_with_the_address_is_not_logged_in_by_code(codes: Codes) -> None:
    """Codes are a parent's means to log in users of its sub-organizations; for its own they begin switched off."""
    address = an_address()
    codes.caller.new_user(userEmail=address)
    assert refusal(attested_login(codes, address, EMAIL))[0] == 401
    user = new_sub_organization(codes.caller)
    user.submitted("update_user_email", {"userId": user.user_id, "userEmail": address})
    assert organization_in(attested_login(codes, address, EMAIL)) == user.organization_id
