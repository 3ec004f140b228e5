"""Logins with a passkey whose organization the request does not name: the credential finds it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from keystead.api.identifiers import ANY_ORGANIZATION
from keystead.operations import CATALOGUE
from keystead.stamps.signing import generate_api_key
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, refusal
from tests.support.passkeys import SoftPasskey


def with_passkey(user: Caller, passkey: SoftPasskey) -> None:
    user.submitted("create_authenticators", {"userId": user.user_id, "authenticators": [passkey.params()]})


def login(caller: Caller, passkey: SoftPasskey, name: str = "stamp_login", **envelope: Any) -> httpx.Response:
    parameters = {"publicKey": generate_api_key().public_key}
    body = caller.submit_body(name, parameters, **{"organizationId": ANY_ORGANIZATION, **envelope})
    path = f"/public/v1/submit/{name}"
    return caller.http.post(path, content=body, headers={**passkey.stamp(body), **SDK_FORM})


@pytest.mark.parametrize("place", ["a parent", "a sub-organization"])
def test_the_passkey_finds_its_organization(caller: Caller, place: str) -> None:
    user = caller.new_user() if place == "a parent" else new_sub_organization(caller)
    passkey = SoftPasskey()
    with_passkey(user, passkey)
    activity = answered(login(caller, passkey))["activity"]
    assert activity["organizationId"] == user.organization_id
    assert activity["status"] == "ACTIVITY_STATUS_COMPLETED"
    assert activity["votes"][0]["userId"] == user.user_id


def test_a_session_of_it_works(caller: Caller) -> None:
    user, passkey, key = caller.new_user(), SoftPasskey(), generate_api_key()
    with_passkey(user, passkey)
    body = caller.submit_body("stamp_login", {"publicKey": key.public_key}, organizationId=ANY_ORGANIZATION)
    answered(caller.http.post("/public/v1/submit/stamp_login", content=body, headers=passkey.stamp(body)))
    assert user.with_key(key, user.user_id).asked("whoami")["userId"] == user.user_id


def test_another_passkey_of_the_same_credential_id_is_nobodys(caller: Caller) -> None:
    passkey, other = SoftPasskey(), SoftPasskey()
    with_passkey(caller.new_user(), passkey)
    other.credential_id = passkey.credential_id
    assert refusal(login(caller, other))[0] == 401


def test_an_unknown_passkey_is_refused(caller: Caller) -> None:
    status, text = refusal(login(caller, SoftPasskey()))
    assert (status, "credential ID could not be found" in text) == (401, True), text


def test_a_passkey_of_several_organizations_names_them_to_its_holder(caller: Caller) -> None:
    passkey = SoftPasskey()
    users = [caller.new_user(), new_sub_organization(caller)]
    for user in users:
        with_passkey(user, passkey)
    status, text = refusal(login(caller, passkey))
    assert status == 401
    assert "registered in several organizations" in text
    assert all(user.organization_id in text for user in users)
    stranger = SoftPasskey()
    stranger.credential_id = passkey.credential_id
    assert all(user.organization_id not in refusal(login(caller, stranger))[1] for user in users)


def test_only_a_passkey_may_leave_it_open(caller: Caller) -> None:
    body = caller.submit_body(
        "stamp_login", {"publicKey": generate_api_key().public_key}, organizationId=ANY_ORGANIZATION
    )
    assert refusal(caller.post("/public/v1/submit/stamp_login", body))[0] == 404


def test_only_a_login_may_leave_it_open(caller: Caller) -> None:
    user, passkey = caller.new_user(), SoftPasskey()
    with_passkey(user, passkey)
    assert {one.name for one in CATALOGUE if one.in_any_organization} == {"stamp_login"}
    body = caller.submit_body("create_wallet", {"walletName": "x", "accounts": []}, organizationId=ANY_ORGANIZATION)
    response = caller.http.post("/public/v1/submit/create_wallet", content=body, headers=passkey.stamp(body))
    assert refusal(response)[0] == 404
