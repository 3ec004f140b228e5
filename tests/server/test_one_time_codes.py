"""One-time codes over HTTP on both databases: from a contact to a verification token, and every way to fail."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from keystead.chains.bundle_texts import read_target
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.callers import SDK_FORM, Caller, refusal, unique
from tests.support.codes import PUBLIC_KEY, Codes
from tests.support.example_codes import SANDBOX, an_address, code_params, encrypted_attempt
from tests.support.servers import bootstrap_installation, running, user_with_key


def told(response: httpx.Response) -> str:
    assert response.status_code >= 400, response.text
    message: str = response.json()["message"]
    return message


def wrong(code: str) -> str:
    return ("B" if code[0] == "A" else "A") + code[1:]


FORMS = [
    ({}, r"[0-9A-HJKMNP-TV-Z]{9}"),
    ({"otpLength": 6, "alphanumeric": False}, r"[0-9]{6}"),
    ({"otpLength": 7, "alphanumeric": True}, r"[0-9A-HJKMNP-TV-Z]{7}"),
]


@pytest.mark.parametrize(("form", "pattern"), FORMS, ids=str)
def test_a_code_gives_a_token_that_names_contact_and_key(codes: Codes, form: dict[str, Any], pattern: str) -> None:
    address = an_address()
    begun = codes.started(address.upper(), **form)
    message = codes.outbox.wait_for(address)
    assert re.fullmatch(pattern, message.secret)
    assert message.secret in message.text
    assert "Wallets" in message.subject
    token = codes.token(begun, message.secret.lower(), expirationSeconds="60")
    assert (token.organization_id, token.otp_type, token.contact, token.public_key) == (
        codes.caller.organization_id,
        "OTP_TYPE_EMAIL",
        address,
        PUBLIC_KEY,
    )
    assert 0 < token.expires_at_ms - time.time() * 1000 <= 60_000


def test_by_sms(codes: Codes) -> None:
    number = f"+1415555{time.time_ns() % 10_000:04}"
    spelled = f"{number[:2]} ({number[2:5]}) {number[5:8]}-{number[8:]}"
    begun = codes.started(spelled, otpType="OTP_TYPE_SMS", smsCustomization={"template": "{{.OtpCode}} it is"})
    message = codes.outbox.wait_for(number)
    assert (message.channel, message.text) == ("sms", f"{message.secret} it is")
    assert codes.token(begun, message.secret).contact == number


OLDER = [("ACTIVITY_TYPE_INIT_OTP_V2", None), ("ACTIVITY_TYPE_INIT_OTP_V2", PUBLIC_KEY)]


@pytest.mark.parametrize(("init", "public_key"), OLDER, ids=["without a key", "with a key"])
def test_older_versions(codes: Codes, init: str, public_key: str | None) -> None:
    address = an_address()
    begun = codes.caller.result("init_otp", code_params(address), type=init)
    assert begun.keys() == {"otpId"}
    code = codes.outbox.code(address)
    asked = {"otpId": begun["otpId"], "otpCode": code}
    asked |= {"publicKey": public_key} if public_key else {}
    result = codes.caller.result("verify_otp", asked, type="ACTIVITY_TYPE_VERIFY_OTP")
    assert len(result["verificationToken"].split(".")) == 3


def test_the_third_wrong_attempt_locks_a_code(codes: Codes) -> None:
    address = an_address()
    begun = codes.started(address)
    code = codes.outbox.code(address)
    for left in (2, 1, 0):
        response = codes.verify(begun, wrong(code))
        assert (response.status_code, told(response)) == (
            400,
            f"Invalid OTP code: wrong code; attempts left: {left}",
        )
    assert told(codes.verify(begun, code)).startswith("Invalid OTP code: it is locked")


def test_a_code_is_used_once_also_by_many_at_the_same_instant(codes: Codes) -> None:
    address = an_address()
    begun = codes.started(address)
    code = codes.outbox.code(address)
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: codes.verify(begun, code), range(6)))
    assert sorted(answer.status_code for answer in answers) == [200, *[400] * 5]
    assert all("Invalid OTP code" in answer.text for answer in answers if answer.status_code == 400)


def test_wrong_attempts_at_the_same_instant_are_all_counted(codes: Codes) -> None:
    address = an_address()
    begun = codes.started(address)
    code = codes.outbox.code(address)
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: told(codes.verify(begun, wrong(code))), range(6)))
    assert sorted(answer for answer in answers if "attempts left" in answer) == [
        f"Invalid OTP code: wrong code; attempts left: {left}" for left in range(3)
    ]


def test_a_flood_for_one_contact_ends_at_three_and_others_are_served(codes: Codes) -> None:
    address = an_address()
    # Each differs in a field that does not matter, or equal bytes would be one activity.
    asked = [code_params(address, sendFromEmailSenderName=str(number)) for number in range(12)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda one: codes.caller.submit("init_otp", one, SDK_FORM), asked))
    assert sorted(answer.status_code for answer in answers) == [*[200] * 3, *[429] * 9]
    refused = [told(answer) for answer in answers if answer.status_code == 429]
    assert all("Max number of OTPs have been initiated" in text for text in refused)
    codes.outbox.wait_for(address, count=3)
    assert len(codes.outbox.messages(address)) == 3
    assert codes.started(an_address())["otpId"]


def test_neither_a_used_nor_a_locked_nor_a_short_code_makes_room(codes: Codes) -> None:
    address = an_address()
    begun = [codes.started(address, expirationSeconds="1") for _ in range(3)]
    code = codes.outbox.code(address, count=3)
    for _ in range(3):
        codes.verify(begun[0], "WRONG-ONE")
    assert codes.verify(begun[2], code).status_code == 200
    time.sleep(1.1)
    response = codes.caller.submit("init_otp", code_params(address), SDK_FORM)
    status, message = refusal(response)
    assert (status, message.startswith("Max number of OTPs have been initiated")) == (429, True), message


def test_a_user_identifier_starts_three_codes_in_three_minutes(codes: Codes) -> None:
    user = unique("user")
    for _ in range(3):
        codes.started(an_address(), userIdentifier=user)
    response = codes.caller.submit("init_otp", code_params(an_address(), userIdentifier=user), SDK_FORM)
    assert refusal(response)[0] == 429
    assert "parameters.userIdentifier" in response.text


def test_a_sandbox_contact_has_its_fixed_code_and_gets_nothing(codes: Codes) -> None:
    for _ in range(5):
        begun = codes.caller.result("init_otp", {**SANDBOX, "appName": "Wallets"})
        assert codes.token(begun, "000000").contact == "user@example.com"
    assert codes.outbox.messages("user@example.com") == []


def test_whether_a_user_has_the_contact_is_not_told(codes: Codes) -> None:
    known, unknown = an_address(), an_address()
    codes.caller.new_user(userEmail=known)
    begun = [codes.started(each) for each in (known, unknown)]
    assert begun[0].keys() == begun[1].keys()
    messages = [codes.outbox.wait_for(each) for each in (known, unknown)]
    assert messages[0].subject == messages[1].subject
    tokens = [codes.token(each, message.secret) for each, message in zip(begun, messages, strict=True)]
    assert [token.contact for token in tokens] == [known, unknown]


BAD_LINK = "invalid magic link template"
REFUSED = [
    ("no contact", {"contact": "nobody"}, "parameters.contact"),
    ("a line break in a contact", {"contact": "ada@example.com\r\nBcc: eve@example.com"}, "parameters.contact"),
    ("a phone number as an e-mail", {"contact": "+14155550123"}, "parameters.contact"),
    ("an e-mail as a phone number", {"otpType": "OTP_TYPE_SMS"}, "parameters.contact"),
    ("another type", {"otpType": "OTP_TYPE_PIGEON"}, "parameters.otpType"),
    ("too short", {"otpLength": 5}, "parameters.otpLength"),
    ("too long", {"otpLength": 10}, "parameters.otpLength"),
    ("no time at all", {"expirationSeconds": "0"}, "parameters.expirationSeconds"),
    ("too much time", {"expirationSeconds": "601"}, "parameters.expirationSeconds"),
    ("a text that is not a time", {"expirationSeconds": "soon"}, "parameters.expirationSeconds"),
    ("no name of the application", {"appName": " "}, "appName"),
    ("a header in a name", {"sendFromEmailSenderName": "a\r\nBcc: eve@example.com"}, "sendFromEmailSenderName"),
    ("a header in the application's name", {"appName": "a\nBcc: eve@example.com"}, "appName"),
    ("another sender", {"sendFromEmailAddress": "nobody"}, "parameters.sendFromEmailAddress"),
    ("another address to reply to", {"replyToEmailAddress": "nobody"}, "parameters.replyToEmailAddress"),
    (
        "a link without a place",
        {"emailCustomization": {"magicLinkTemplate": "https://a"}},
        "invalid magic link template",
    ),
    (
        "a script as a link",
        {"emailCustomization": {"magicLinkTemplate": "javascript:%s"}},
        "invalid magic link template",
    ),
]


@pytest.mark.parametrize(("name", "fields", "text"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_malformed_starts(codes: Codes, name: str, fields: dict[str, Any], text: str) -> None:
    address = an_address()
    response = codes.caller.submit("init_otp", code_params(address) | fields, SDK_FORM)
    assert refusal(response)[0] == 400
    assert text in response.text
    assert codes.outbox.messages(address) == []


def test_attempts_that_fit_no_code(codes: Codes) -> None:
    address, other = an_address(), an_address()
    begun, elsewhere = codes.started(address), codes.started(other)
    code = codes.outbox.code(address)
    stranger = "01a1ffa0-a19d-72f0-bfb7-5c26d21e7d14"
    attempt = encrypted_attempt(begun["otpEncryptionTargetBundle"], code, PUBLIC_KEY)
    uncurved = encrypted_attempt(begun["otpEncryptionTargetBundle"], code, "02" + "ff" * 32)
    v1 = {"type": "ACTIVITY_TYPE_VERIFY_OTP"}
    cases: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
        ("an unknown code", {"otpId": stranger, "encryptedOtpBundle": attempt}, {}, "Invalid OTP code"),
        (
            "sealed to another code",
            {"otpId": elsewhere["otpId"], "encryptedOtpBundle": attempt},
            {},
            "decrypt bundle",
        ),
        ("no bundle", {"otpId": begun["otpId"], "encryptedOtpBundle": "{}"}, {}, "failed to decrypt bundle"),
        ("no key", {"otpId": begun["otpId"], "encryptedOtpBundle": uncurved}, {}, "P-256 public key"),
        ("the older flow", {"otpId": begun["otpId"], "otpCode": code}, v1, "Invalid OTP code"),
    ]
    for name, asked, envelope, text in cases:
        response = codes.caller.submit("verify_otp", asked, SDK_FORM, **envelope)
        assert (name, refusal(response)[0]) == (name, 400)
        assert text in response.text, name
    for seconds in ("0", "86401", "-1", "x"):
        assert refusal(codes.verify(begun, code, expirationSeconds=seconds))[0] == 400
    assert codes.token(begun, code).public_key == PUBLIC_KEY, "none of this was an attempt"
    assert read_target(PUBLIC_KEY, "key")


def test_a_code_of_another_organization_is_unknown(codes: Codes) -> None:
    address = an_address()
    begun = codes.started(address)
    code = codes.outbox.code(address)
    key = generate_api_key()
    user = user_with_key(key)
    other = codes.server.installation.add_organization(user)
    caller = Caller(codes.server.http, other.id, user.user_id, key)
    attempt = encrypted_attempt(begun["otpEncryptionTargetBundle"], code, PUBLIC_KEY)
    asked = {"otpId": begun["otpId"], "encryptedOtpBundle": attempt}
    assert "Invalid OTP code" in told(caller.submit("verify_otp", asked, SDK_FORM))
    assert codes.token(begun, code).contact == address


def test_the_outbox_is_for_programs_on_this_machine(codes: Codes) -> None:
    for headers in ({"Origin": "https://example.com"}, {"Host": "attacker.example:80"}):
        assert codes.server.http.get("/dev/v1/outbox", headers=headers).status_code == 403
    assert codes.server.http.post("/dev/v1/outbox").status_code == 405


def test_a_server_for_real_people_has_no_sandbox_contacts(make_sqlite: MakeDatabase, tmp_path: Path) -> None:
    installation = bootstrap_installation(make_sqlite())
    with running(installation, tmp_path / "log", {"sandbox_contacts": False}) as server:
        server.caller.result("init_otp", {**SANDBOX, "appName": "Wallets"})
        assert installation.database.counts()["outgoing_message"] == 1, "its code goes by e-mail, like any other"
    installation.database.close()


@pytest.mark.parametrize("activity_type", ["INIT_OTP_V3", "INIT_OTP_V2", "INIT_OTP_AUTH_V3"])
def test_an_application_without_a_name_is_refused(codes: Codes, activity_type: str) -> None:
    address = an_address()
    parameters = {"otpType": "OTP_TYPE_EMAIL", "contact": address, "appName": ""}
    operation = "init_otp_auth" if "AUTH" in activity_type else "init_otp"
    sent = codes.caller.submit(operation, parameters, type=f"ACTIVITY_TYPE_{activity_type}")
    status, message = refusal(sent)
    assert (status, "`parameters.appName`" in message) == (400, True), message
