"""Rules of account contacts over HTTP: strangers, two owners, features, a parent's own users, credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.server.test_account_contacts import (
    EMAIL,
    SMS,
    TOKEN_KEY,
    Case,
    Kind,
    account,
    attested_login,
    attested_login_there,
    by_a_sign_up,
    by_its_own_user,
    by_its_own_user_with_a_token,
    by_the_parent,
    for_a_new_user_of_its_own,
    new_case,
    otp_login,
    otp_login_there,
    otp_login_through_the_proxy,
    root_user,
    whoami,
)
from tests.server.test_auth_proxy import ask, new_proxy, sign_up
from tests.support import bundles
from tests.support.authorization_scenario import new_parent, new_sub_organization
from tests.support.callers import SDK_FORM, refusal
from tests.support.codes import Codes
from tests.support.example_codes import claims
from tests.support.recovery import recovery_params
from tests.support.sessions import attested


@pytest.fixture(scope="module")
def codes(unshared_codes: Codes) -> Codes:
    return unshared_codes


@pytest.fixture(scope="module")
def config_id(codes: Codes) -> str:
    return new_proxy(codes.caller)


def test_a_strangers_accounts_do_not_take_a_contact_from_its_owner(codes: Codes, config_id: str) -> None:
    """However many accounts strangers make with it, before and after."""
    for kind in (EMAIL, SMS):
        case = new_case(codes, config_id, kind)
        strangers = [by_a_sign_up(case), by_its_own_user(case)]
        own = by_its_own_user_with_a_token(case)
        strangers += [by_a_sign_up(case), for_a_new_user_of_its_own(case)]
        for look_up in (account, otp_login, attested_login, whoami):
            assert look_up(case, own) == own, look_up.__name__
        for stranger in strangers:
            for there in (otp_login_there, otp_login_through_the_proxy, attested_login_there):
                assert there(case, stranger) == "", there.__name__


def test_a_contact_that_two_accounts_prove_is_ambiguous(codes: Codes, config_id: str) -> None:
    for kind in (EMAIL, SMS):
        case = new_case(codes, config_id, kind)
        proved = [by_its_own_user_with_a_token(case), by_the_parent(case)]
        asked = {"filterType": kind.filter_type, "filterValue": case.contact, "verificationToken": case.token}
        for response in (
            ask(codes.caller, config_id, "account", **asked),
            codes.caller.submit("otp_login", case.login_params(), SDK_FORM),
        ):
            status, message = refusal(response)
            assert (status, "more than one suborg associated with a verified" in message) == (401, True), message
        for organization_id in proved:
            assert otp_login_there(case, organization_id) == organization_id


def test_in_one_organization_who_proved_an_address_logs_in(codes: Codes, config_id: str) -> None:
    """Others of the organization may write the address, too."""
    case = new_case(codes, config_id, EMAIL)
    user = new_sub_organization(codes.caller)
    asked = {"userId": user.user_id, **case.written, "verificationToken": case.token}
    user.submitted("update_user_email", asked)
    user.new_user(**case.written)
    by = case.parent_at(user.organization_id)
    sent = recovery_params(case.contact, bundles.point(bundles.fresh()).hex())
    assert by.result("email_auth", sent)["userId"] == user.user_id
    result = by.result("otp_login", case.login_params())
    assert claims(result["session"])["user_id"] == user.user_id


SWITCHED_OFF: list[tuple[Kind, dict[str, Any], str]] = [
    (EMAIL, {"disableOtpEmailAuth": True}, "FEATURE_NAME_OTP_EMAIL_AUTH is not enabled"),
    (SMS, {"disableSmsAuth": True}, "FEATURE_NAME_SMS_AUTH is not enabled"),
]


@pytest.mark.parametrize(("kind", "switch", "text"), SWITCHED_OFF, ids=["e-mail", "SMS"])
def test_logins_by_code_that_are_switched_off(
    codes: Codes, config_id: str, kind: Kind, switch: dict[str, Any], text: str
) -> None:
    case = new_case(codes, config_id, kind)
    user = new_sub_organization(codes.caller, contacts=case.written, **switch)
    body = codes.caller.submit_body("stamp_login", {"publicKey": generate_api_key().public_key})
    headers = attested(TOKEN_KEY, "VERIFICATION_TOKEN", case.token, body)
    for response in (
        codes.caller.submit("otp_login", case.login_params()),
        case.parent_at(user.organization_id).submit("otp_login", case.login_params()),
        codes.caller.http.post("/public/v1/submit/stamp_login", content=body, headers=headers),
    ):
        status, message = refusal(response)
        assert (status, text in message) == (400, True), message


def test_a_parents_own_user_with_the_address_is_not_logged_in_by_code(codes: Codes, config_id: str) -> None:
    """A parent logs in users of its sub-organizations by codes. For its own users they are off at first."""
    case = new_case(codes, config_id, EMAIL)
    codes.caller.new_user(**case.written)
    assert attested_login(case, "") == ""
    made = by_the_parent(case)
    assert attested_login(case, made) == made


def test_the_contacts_that_users_of_a_parent_write_find_its_users(codes: Codes) -> None:
    parent = new_parent(codes.server)
    for feature in ("FEATURE_NAME_EMAIL_AUTH", "FEATURE_NAME_OTP_EMAIL_AUTH"):
        parent.submitted("set_organization_feature", {"name": feature})
    first, second = EMAIL.fresh(), EMAIL.fresh()
    user = parent.new_user(userEmail=first)

    def found_by(address: str) -> int:
        asked = recovery_params(address, bundles.point(bundles.fresh()).hex())
        return parent.submit("email_auth", asked).status_code

    assert (found_by(first), found_by(second)) == (200, 404)
    parent.submitted("update_user_email", {"userId": user.user_id, "userEmail": second})
    assert (found_by(first), found_by(second)) == (404, 200)


NO_LOGIN: list[tuple[str, Callable[[Case], httpx.Response]]] = [
    (
        "a sign-up",
        lambda case: ask(case.codes.caller, case.config_id, "signup_v2", **sign_up(**case.written)),
    ),
    (
        "a new user",
        lambda case: new_sub_organization(case.codes.caller).submit(
            "create_users", {"users": [root_user(case, userTags=[])]}
        ),
    ),
]


@pytest.mark.parametrize(("name", "asked"), NO_LOGIN, ids=[name for name, _ in NO_LOGIN])
def test_nobody_is_left_with_a_contact_that_finds_nothing(
    codes: Codes, config_id: str, name: str, asked: Callable[[Case], httpx.Response]
) -> None:
    case = new_case(codes, config_id, EMAIL)
    status, message = refusal(asked(case))
    assert (status, "a contact that is verified or that a user of the parent wrote" in message) == (400, True), name


def test_the_last_credential_beside_a_contact_that_finds_nothing_stays(codes: Codes, config_id: str) -> None:
    case = new_case(codes, config_id, EMAIL)
    user = new_sub_organization(codes.caller)
    user.submitted("update_user_email", {"userId": user.user_id, **case.written})
    (key,) = user.asked("get_api_keys", userId=user.user_id)["apiKeys"]
    asked = {"userId": user.user_id, "apiKeyIds": [key["apiKeyId"]]}
    assert "user missing valid credential" in refusal(user.submit("delete_api_keys", asked))[1]
    proving = {"userId": user.user_id, **case.written, "verificationToken": case.token}
    user.submitted("update_user_email", proving)
    user.submitted("delete_api_keys", asked)
