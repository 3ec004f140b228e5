"""Logins by one-time code over HTTP: the parent's user logs a sub-organization's user in; every way to fail."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from keystead.stamps.signing import generate_api_key
from tests.support import bundles
from tests.support.callers import SDK_FORM, Caller, api_key_params, refusal, unique
from tests.support.codes import KEY, Codes
from tests.support.example_codes import an_address, claims, client_signature, code_params, login_signature


def signed_up(codes: Codes, address: str, **others: Any) -> str:
    key = api_key_params(generate_api_key().public_key)
    root = {"userName": "Ada", "userEmail": address, "apiKeys": [key], "authenticators": [], "oauthProviders": []}
    asked = {"subOrganizationName": unique("sub"), "rootUsers": [root], "rootQuorumThreshold": 1, **others}
    return str(codes.caller.result("create_sub_organization", asked)["subOrganizationId"])


def at(codes: Codes, organization_id: str) -> Caller:
    """The parent's user, who names a sub-organization."""
    caller = codes.caller
    return Caller(caller.http, organization_id, caller.user_id, caller.key)


@pytest.mark.parametrize("named", ["the parent", "the sub-organization"])
def test_a_login_finds_the_user_by_the_contact(codes: Codes, named: str) -> None:
    address, key = an_address(), generate_api_key()
    home = signed_up(codes, address)
    token = codes.proven(address)
    asked = {
        "verificationToken": token,
        "publicKey": key.public_key,
        "clientSignature": login_signature(token, key.public_key, KEY),
    }
    by = codes.caller if named == "the parent" else at(codes, home)
    session = claims(by.result("otp_login", asked)["session"])
    assert (session["organization_id"], session["public_key"]) == (home, key.public_key)
    user = Caller(codes.server.http, home, session["user_id"], key)
    assert user.asked("whoami")["userId"] == session["user_id"]


class Wrong(NamedTuple):
    name: str
    status: int
    text: str


WRONG = [
    Wrong("another session key", 400, "another `login.publicKey`"),
    Wrong("another token", 400, "another `tokenId`"),
    Wrong("another key", 400, "not the key of the verification token"),
    Wrong("a sign-up", 400, "not about a login"),
    Wrong("nobody has the contact", 404, "no user of organization"),
    Wrong("the feature is off", 400, "FEATURE_NAME_OTP_EMAIL_AUTH is not enabled"),
    Wrong("two sub-organizations have the contact", 401, "more than one suborg associated with"),
    Wrong("no token", 400, "invalid verification token"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_wrong_logins(codes: Codes, case: Wrong) -> None:
    address, session = an_address(), generate_api_key().public_key
    home = signed_up(codes, address, **({"disableOtpEmailAuth": True} if case.name == "the feature is off" else {}))
    if case.name == "two sub-organizations have the contact":
        signed_up(codes, address)
    proven = an_address() if case.name == "nobody has the contact" else address
    token = codes.proven(proven)
    message = {"login": {"publicKey": session}, "tokenId": claims(token)["id"], "type": "USAGE_TYPE_LOGIN"}
    changed: dict[str, dict[str, Any]] = {
        "another session key": {"login": {"publicKey": "02" + "11" * 32}},
        "another token": {"tokenId": "another"},
        "a sign-up": {"type": "USAGE_TYPE_SIGNUP"},
    }
    key = bundles.fresh() if case.name == "another key" else KEY
    signature = client_signature(message | changed.get(case.name, {}), key)
    given = "no token" if case.name == "no token" else token
    asked = {"verificationToken": given, "publicKey": session, "clientSignature": signature}
    by = at(codes, home) if case.name == "nobody has the contact" else codes.caller
    response = by.submit("otp_login", asked, SDK_FORM)
    status, text = refusal(response)
    assert (status, case.text in text) == (case.status, True), text
    assert token[-40:] not in response.text


def test_a_token_of_a_sub_organization_is_good_there_alone(codes: Codes) -> None:
    address, key = an_address(), generate_api_key()
    root = {"userName": "Eve", "apiKeys": [api_key_params(key.public_key)], "authenticators": []}
    asked = {
        "subOrganizationName": unique("sub"),
        "rootUsers": [root | {"oauthProviders": []}],
        "rootQuorumThreshold": 1,
    }
    made = codes.caller.result("create_sub_organization", asked)
    eve = Caller(codes.server.http, made["subOrganizationId"], made["rootUserIds"][0], key)
    home = signed_up(codes, address)
    token = codes._replace(caller=eve).proven(address)
    session = generate_api_key().public_key
    login = {
        "verificationToken": token,
        "publicKey": session,
        "clientSignature": login_signature(token, session, KEY),
    }
    response = at(codes, home).submit("otp_login", login, SDK_FORM)
    assert refusal(response)[0] == 400
    assert "issued in another organization" in response.text


def test_otp_auth_takes_the_code_once_and_counts_wrong_ones(codes: Codes) -> None:
    address, client = an_address(), bundles.fresh()
    by = at(codes, signed_up(codes, address))
    begun = by.result("init_otp_auth", code_params(address))
    code = codes.outbox.code(address)
    asked = {
        "otpId": begun["otpId"],
        "otpCode": "WRONG-ONE",
        "targetPublicKey": bundles.point(client).hex(),
    }
    assert refusal(by.submit("otp_auth", asked, SDK_FORM))[1] == "Invalid OTP code: wrong code; attempts left: 2"
    result = by.result("otp_auth", asked | {"otpCode": code})
    assert bundles.credential(result["credentialBundle"], client)
    again = by.submit("otp_auth", asked | {"otpCode": code, "apiKeyName": "again"}, SDK_FORM)
    assert "it was used before" in refusal(again)[1]


def test_email_auth_sends_the_bundle_to_the_address_on_record(codes: Codes) -> None:
    address, client = an_address(), bundles.fresh()
    by = at(codes, signed_up(codes, address))
    asked = {
        "email": address.upper(),
        "targetPublicKey": bundles.point(client).hex(),
        "emailCustomization": {"appName": "Wallets", "magicLinkTemplate": "https://example.com/?bundle=%s"},
    }
    result = by.result("email_auth", asked)
    message = codes.outbox.wait_for(address)
    assert bundles.credential(message.secret, client)
    assert f"https://example.com/?bundle={message.secret}" in message.text
    assert message.secret not in str(result)
    unknown = by.submit("email_auth", asked | {"email": an_address()}, SDK_FORM)
    assert refusal(unknown)[0] == 404
