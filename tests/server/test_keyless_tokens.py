"""Verification tokens that name no key, of the older verify_otp: shown once, used once, and not taken by V8."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, refusal, unique
from tests.support.codes import PUBLIC_KEY, Codes, signup_signature
from tests.support.example_codes import an_address, code_params

SIGN_UP_V7, SIGN_UP_V8 = (f"ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_{version}" for version in ("V7", "V8"))


@pytest.fixture(scope="module")
def codes(unshared_codes: Codes) -> Codes:
    return unshared_codes


def verified(codes: Codes, address: str, **public_key: str) -> dict[str, Any]:
    """The activity of an older verify_otp."""
    before = len(codes.outbox.messages(address))
    begun = codes.caller.result("init_otp", code_params(address), type="ACTIVITY_TYPE_INIT_OTP_V2")
    asked = {"otpId": begun["otpId"], "otpCode": codes.outbox.code(address, count=before + 1), **public_key}
    activity: dict[str, Any] = codes.caller.submitted(
        "verify_otp", asked, SDK_FORM, type="ACTIVITY_TYPE_VERIFY_OTP"
    )
    return activity


def token_of(activity: dict[str, Any]) -> str:
    token: str = activity["result"]["verifyOtpResult"]["verificationToken"]
    return token


def signed_up(codes: Codes, address: str, token: str, version: str = SIGN_UP_V7, **others: Any) -> httpx.Response:
    key = api_key_params(generate_api_key().public_key)
    root = {"userName": "Ada", "userEmail": address, "apiKeys": [key], "authenticators": [], "oauthProviders": []}
    asked = {
        "subOrganizationName": unique("sub"),
        "rootUsers": [root | others.pop("user", {})],
        "rootQuorumThreshold": 1,
        "verificationToken": token,
        **others,
    }
    return codes.caller.submit("create_sub_organization", asked, SDK_FORM, type=version)


def logged_in(codes: Codes, address: str, token: str) -> httpx.Response:
    asked = {"verificationToken": token, "publicKey": generate_api_key().public_key}
    return codes.caller.submit("otp_login", asked, SDK_FORM, type="ACTIVITY_TYPE_OTP_LOGIN")


def changed(codes: Codes, address: str, token: str) -> httpx.Response:
    user = new_sub_organization(codes.caller)
    asked = {"userId": user.user_id, "userEmail": address, "verificationToken": token}
    return user.submit("update_user_email", asked, SDK_FORM)


def home_of(codes: Codes, address: str) -> Caller:
    return new_sub_organization(codes.caller, contacts={"userEmail": address})


Use = Callable[[Codes, str, str], httpx.Response]
USES: dict[str, Use] = {"a login": logged_in, "a sign-up": signed_up, "a changed address": changed}


@pytest.mark.parametrize("second", USES)
@pytest.mark.parametrize("first", USES)
def test_a_token_without_a_key_is_used_once(codes: Codes, first: str, second: str) -> None:
    address = an_address()
    if first == "a login":
        home_of(codes, address)
    token = token_of(verified(codes, address))
    answered(USES[first](codes, address, token))
    status, message = refusal(USES[second](codes, address, token))
    assert (status, "it names no key and was used before" in message) == (400, True), message
    assert token[-40:] not in message


def test_a_token_without_a_key_is_used_once_also_by_many_at_the_same_instant(codes: Codes) -> None:
    address = an_address()
    home_of(codes, address)
    token = token_of(verified(codes, address))
    with ThreadPoolExecutor(5) as threads:
        answers = list(threads.map(lambda _: logged_in(codes, address, token), range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, *[400] * 4], [one.text for one in answers]


def test_a_refused_use_leaves_the_token_good(codes: Codes) -> None:
    address = an_address()
    token = token_of(verified(codes, address))
    assert refusal(logged_in(codes, address, token))[0] == 404, "nobody has the address"
    home_of(codes, address)
    answered(logged_in(codes, address, token))


def test_a_token_without_a_key_is_in_the_answer_and_nowhere_on_record(codes: Codes) -> None:
    address = an_address()
    activity = verified(codes, address)
    token = token_of(activity)
    assert token.count(".") == 2
    for seen in (
        codes.caller.asked("get_activity", SDK_FORM, activityId=activity["id"])["activity"],
        codes.caller.asked("list_activities", SDK_FORM)["activities"][0],
    ):
        assert (seen["id"], token_of(seen)) == (activity["id"], "")
    signature = token.rpartition(".")[2].encode()
    assert not any(signature in value for value in codes.server.installation.database.values())


def test_a_token_with_a_key_is_on_record_and_good_for_a_sign_up_and_a_login(codes: Codes) -> None:
    address = an_address()
    activity = verified(codes, address, publicKey=PUBLIC_KEY)
    token = token_of(activity)
    seen = codes.caller.asked("get_activity", SDK_FORM, activityId=activity["id"])["activity"]
    assert token_of(seen) == token
    keys = [api_key_params(generate_api_key().public_key)]
    signature = signup_signature(token, apiKeys=keys, email=address)
    answered(signed_up(codes, address, token, SIGN_UP_V8, user={"apiKeys": keys}, clientSignature=signature))
    assert "used before" not in refusal(logged_in(codes, address, token))[1], "a client signature is what it lacks"


def test_the_newest_sign_up_takes_no_token_without_a_key(codes: Codes) -> None:
    address = an_address()
    token = token_of(verified(codes, address))
    status, message = refusal(signed_up(codes, address, token, SIGN_UP_V8))
    assert (status, "it names no key; this version needs a token of" in message) == (400, True), message
    answered(signed_up(codes, address, token, SIGN_UP_V7))


def test_a_request_with_a_token_without_a_key_does_not_wait(codes: Codes) -> None:
    """While it waits, every user of the organization and of its parent could read the token and log in with it. So
    it is with a code in plain text."""
    address, user = an_address(), new_sub_organization(codes.caller)
    other = user.new_user()
    user.submitted("update_root_quorum", {"threshold": 2, "userIds": [user.user_id, other.user_id]})
    asked = {"userId": user.user_id, "userEmail": address}
    bearer = asked | {"verificationToken": token_of(verified(codes, address))}
    status, message = refusal(user.submit("update_user_email", bearer))
    assert (status, "cannot wait for approvals or proofs" in message) == (403, True), message
    code = {"otpId": user.user_id, "otpCode": "ABCDEF"}
    status, message = refusal(user.submit("verify_otp", code, type="ACTIVITY_TYPE_VERIFY_OTP"))
    assert (status, "holds a one-time code" in message) == (403, True), message
    bound = asked | {
        "verificationToken": token_of(verified(codes, address, publicKey=generate_api_key().public_key))
    }
    waiting = answered(user.submit("update_user_email", bound, SDK_FORM))["activity"]
    assert waiting["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    listed = user.asked("list_activities", SDK_FORM)["activities"]
    assert bearer["verificationToken"] not in str(listed)
