"""Codes, tokens and sessions over HTTP once their time is over, on both databases. A test moves the server's clock.

Each case is tried twice: in time, when it succeeds, and too late.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.sessions.session_tokens import nonce_of
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.operations.test_oauth2_credentials import authentication, new_credential
from tests.server.test_auth_proxy import ask, new_proxy, sign_up
from tests.support import bundles
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, refusal, unique
from tests.support.codes import Codes, outbox_of, signup_signature
from tests.support.example_codes import an_address, code_params
from tests.support.issuers import AUDIENCE, taking_tokens
from tests.support.moved_clock import MovedClock
from tests.support.organization_fixtures import session_profile_params
from tests.support.people import Person, attested_login, holder_of, id_token, new_person, otp_login_params
from tests.support.servers import bootstrap_installation, running
from tests.support.sessions import logged_in

Attempt = Callable[[], httpx.Response]


@pytest.fixture(scope="module")
def codes(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codes]:
    """A server that keeps its messages and takes ISSUER's tokens, by a clock that tests move."""
    folder = tmp_path_factory.mktemp("expired")
    installation, clock = bootstrap_installation(make_database(), mode="dev"), MovedClock(folder / "clock")
    with running(installation, folder / "log", taking_tokens(folder), clock) as server:
        yield Codes(server, server.caller, outbox_of(server))
    installation.database.close()


def advance(codes: Codes, seconds: int) -> None:
    assert codes.server.clock is not None
    codes.server.clock.advance(seconds)


# One-time codes.


def a_code(**others: Any) -> Callable[[Codes], Attempt]:
    def prepare(codes: Codes) -> Attempt:
        address = an_address()
        begun = codes.started(address, **others)
        code = codes.outbox.code(address)
        return lambda: codes.verify(begun, code)

    return prepare


def a_code_of_the_older_flow(codes: Codes) -> Attempt:
    address = an_address()
    begun = codes.caller.result("init_otp", code_params(address), type="ACTIVITY_TYPE_INIT_OTP_V2")
    asked = {"otpId": begun["otpId"], "otpCode": codes.outbox.code(address)}
    return lambda: codes.caller.submit("verify_otp", asked, SDK_FORM, type="ACTIVITY_TYPE_VERIFY_OTP")


def a_code_of_otp_auth(codes: Codes) -> Attempt:
    return _otp_auth(codes)[1]


def _otp_auth(codes: Codes) -> tuple[Person, Attempt, Any]:
    """Whose login it is, the login, the private key that its bundle is encrypted to."""
    person, target = new_person(codes), bundles.fresh()
    begun = person.caller.result("init_otp_auth", code_params(person.email))
    asked = {
        "otpId": begun["otpId"],
        "otpCode": codes.outbox.code(person.email),
        "targetPublicKey": bundles.point(target).hex(),
    }
    return person, lambda: person.caller.submit("otp_auth", asked, SDK_FORM), target


# Verification tokens.


def a_token_at_a_login(**others: Any) -> Callable[[Codes], Attempt]:
    def prepare(codes: Codes) -> Attempt:
        asked = otp_login_params(_token(codes, new_person(codes).email, **others), generate_api_key().public_key)
        return lambda: codes.caller.submit("otp_login", asked, SDK_FORM)

    return prepare


def _token(codes: Codes, address: str, **others: Any) -> str:
    begun = codes.started(address)
    response = codes.verify(begun, codes.outbox.code(address), **others)
    token: str = answered(response)["activity"]["result"]["verifyOtpResult"]["verificationToken"]
    return token


def a_token_at_a_sign_up(codes: Codes) -> Attempt:
    address, keys = an_address(), [api_key_params(generate_api_key().public_key)]
    token = _token(codes, address)
    user = {"userName": "Ada", "userEmail": address, "apiKeys": keys, "authenticators": [], "oauthProviders": []}
    asked = {
        "subOrganizationName": unique("sub"),
        "rootUsers": [user],
        "rootQuorumThreshold": 1,
        "verificationToken": token,
        "clientSignature": signup_signature(token, apiKeys=keys, email=address),
    }
    return lambda: codes.caller.submit("create_sub_organization", asked, SDK_FORM)


def a_token_for_a_changed_address(codes: Codes) -> Attempt:
    person, address = new_person(codes), an_address()
    asked = {
        "userId": person.caller.user_id,
        "userEmail": address,
        "verificationToken": _token(codes, address),
    }
    return lambda: person.caller.submit("update_user_email", asked)


def a_token_in_a_stamp(codes: Codes) -> Attempt:
    person, key = new_person(codes), generate_api_key()
    response = codes.verify(codes.started(person.email), codes.outbox.code(person.email), key.public_key)
    token = answered(response)["activity"]["result"]["verifyOtpResult"]["verificationToken"]
    return lambda: attested_login(codes, key, "VERIFICATION_TOKEN", token)


def a_token_at_the_proxy(endpoint: str) -> Callable[[Codes], Attempt]:
    def prepare(codes: Codes) -> Attempt:
        config_id = new_proxy(codes.caller)
        email = an_address() if endpoint == "signup_v2" else new_person(codes).email
        token = _token(codes, email)
        signature = signup_signature(token, email=email)
        asked: dict[str, dict[str, Any]] = {
            "account": {"filterType": "EMAIL", "filterValue": email, "verificationToken": token},
            "otp_login_v2": otp_login_params(token, generate_api_key().public_key),
            "signup_v2": sign_up(userEmail=email, verificationToken=token, clientSignature=signature),
        }
        return lambda: ask(codes.caller, config_id, endpoint, **asked[endpoint])

    return prepare


# ID tokens.


def an_id_token_at(operation: str) -> Callable[[Codes], Attempt]:
    def prepare(codes: Codes) -> Attempt:
        person, key = new_person(codes), bundles.point(bundles.fresh()).hex()
        named = {"oauth_login": "publicKey", "oauth": "targetPublicKey"}[operation]
        asked = {"oidcToken": person.id_token(key), named: key}
        return lambda: codes.caller.submit(operation, asked, SDK_FORM)

    return prepare


def an_id_token_in_a_stamp(codes: Codes) -> Attempt:
    person, key = new_person(codes), generate_api_key()
    token = person.id_token(key.public_key)
    return lambda: attested_login(codes, key, "OIDC", token)


def an_id_token_that_is_attached(codes: Codes) -> Attempt:
    person = new_person(codes)
    provider = {"providerName": "another", "oidcToken": id_token(codes, unique("subject"), "")}
    asked = {"userId": person.caller.user_id, "oauthProviders": [provider]}
    return lambda: person.caller.submit("create_oauth_providers", asked)


def an_id_token_at_the_proxy(endpoint: str) -> Callable[[Codes], Attempt]:
    def prepare(codes: Codes) -> Attempt:
        config_id = new_proxy(codes.caller, walletKitSettings={"oauthClientIds": {"google": AUDIENCE}})
        person, key = new_person(codes), generate_api_key().public_key
        token = person.id_token(key)
        stranger = {"providerName": "issuer", "oidcToken": id_token(codes, unique("subject"), key)}
        asked: dict[str, dict[str, Any]] = {
            "account": {"filterType": "OIDC_TOKEN", "filterValue": token},
            "oauth_login": {"oidcToken": token, "publicKey": key},
            "signup_v2": sign_up(oauthProviders=[stranger]),
        }
        return lambda: ask(codes.caller, config_id, endpoint, **asked[endpoint])

    return prepare


def an_id_token_of_this_server(codes: Codes) -> Attempt:
    """About a person of an OAuth 2.0 provider."""
    key, account = generate_api_key().public_key, unique("account").replace(" ", "-")
    credential_id, client_id = new_credential(codes.caller)
    identity = {"iss": "https://oauth2.keystead.invalid", "aud": client_id, "sub": f"x:{account}"}
    provider = {"providerName": "X", "oidcClaims": identity}
    user = {"userName": "Ada", "apiKeys": [], "authenticators": [], "oauthProviders": [provider]}
    made = {"subOrganizationName": unique("sub"), "rootUsers": [user], "rootQuorumThreshold": 1}
    codes.caller.submitted("create_sub_organization", made)
    exchanged = authentication(credential_id, authCode=account, nonce=nonce_of(key))
    token = codes.caller.result("oauth2_authenticate", exchanged)["oidcToken"]
    return lambda: codes.caller.submit("oauth_login", {"oidcToken": token, "publicKey": key}, SDK_FORM)


# Sessions.


def whoami(caller: Caller) -> Attempt:
    return lambda: caller.ask("whoami")


def a_session_that_asks(codes: Codes) -> Attempt:
    return whoami(logged_in(new_person(codes).caller))


def a_session_of_a_day(codes: Codes) -> Attempt:
    return whoami(logged_in(new_person(codes).caller, expirationSeconds="86400"))


def a_session_that_submits(codes: Codes) -> Attempt:
    session = logged_in(new_person(codes).caller)
    return lambda: session.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []})


def a_session_that_is_refreshed(codes: Codes) -> Attempt:
    session = logged_in(new_person(codes).caller)
    return lambda: session.submit("stamp_login", {"publicKey": generate_api_key().public_key})


def a_session_of_a_shorter_profile(codes: Codes) -> Attempt:
    asked = session_profile_params(expirationSeconds="600")
    profile_id = codes.caller.result("create_session_profile", asked)["sessionProfileId"]
    session = logged_in(new_person(codes).caller, sessionProfileId=profile_id, expirationSeconds="3600")
    return whoami(session)


def a_read_write_session(codes: Codes) -> Attempt:
    person, target = new_person(codes), bundles.fresh()
    asked = {"targetPublicKey": bundles.point(target).hex()}
    bundle = person.caller.result("create_read_write_session", asked)["credentialBundle"]
    return whoami(holder_of(person.caller, bundle, target))


def a_session_of_otp_auth(codes: Codes) -> Attempt:
    person, login, target = _otp_auth(codes)
    bundle = answered(login())["activity"]["result"]["otpAuthResult"]["credentialBundle"]
    return whoami(holder_of(person.caller, bundle, target))


def a_session_of_oauth(codes: Codes) -> Attempt:
    person, target = new_person(codes), bundles.fresh()
    key = bundles.point(target).hex()
    asked = {"oidcToken": person.id_token(key), "targetPublicKey": key}
    return whoami(holder_of(person.caller, codes.caller.result("oauth", asked)["credentialBundle"], target))


def a_session_of_email_auth(codes: Codes) -> Attempt:
    person, target = new_person(codes), bundles.fresh()
    asked = {
        "email": person.email,
        "targetPublicKey": bundles.point(target).hex(),
        "emailCustomization": {"appName": "Wallets"},
    }
    person.caller.result("email_auth", asked)
    return whoami(holder_of(person.caller, codes.outbox.wait_for(person.email).secret, target))


def a_read_only_session(codes: Codes) -> Attempt:
    user = new_person(codes).caller
    headers = {"X-Session": user.result("create_read_only_session", {})["session"]}
    return lambda: user.http.post("/public/v1/query/whoami", content=user.query_body(), headers=headers)


class Expiring(NamedTuple):
    """The attempt is refused after `lasts_s` seconds, with this status and this text."""

    name: str
    prepare: Callable[[Codes], Attempt]
    lasts_s: int
    status: int
    text: str


CODE = "Invalid OTP code: it has expired; ask for a new one"
TOKEN = "invalid verification token"
SESSION = "Unauthenticated desc = expired api key publicKey"
CASES = [
    Expiring("a code, which lasts as long as its window", a_code(), 600, 400, CODE),
    Expiring("a code for a minute, which does so, too", a_code(expirationSeconds="60"), 600, 400, CODE),
    Expiring("the longest code", a_code(expirationSeconds="600"), 600, 400, CODE),
    Expiring("a code of the older flow", a_code_of_the_older_flow, 600, 400, CODE),
    Expiring("a code of otp_auth", a_code_of_otp_auth, 600, 400, CODE),
    Expiring("a token at a login", a_token_at_a_login(), 3_600, 400, TOKEN),
    Expiring("a token for a minute", a_token_at_a_login(expirationSeconds="60"), 60, 400, TOKEN),
    Expiring("the longest token", a_token_at_a_login(expirationSeconds="86400"), 86_400, 400, TOKEN),
    Expiring("a token at a sign-up", a_token_at_a_sign_up, 3_600, 400, TOKEN),
    Expiring("a token for a changed address", a_token_for_a_changed_address, 3_600, 400, TOKEN),
    Expiring("a token in a stamp", a_token_in_a_stamp, 3_600, 401, "verification token: expired"),
    Expiring("a token at the proxy's account", a_token_at_the_proxy("account"), 3_600, 401, TOKEN),
    Expiring("a token at the proxy's login", a_token_at_the_proxy("otp_login_v2"), 3_600, 400, TOKEN),
    Expiring("a token at the proxy's sign-up", a_token_at_the_proxy("signup_v2"), 3_600, 400, TOKEN),
    Expiring("an ID token at oauth_login", an_id_token_at("oauth_login"), 3_600, 400, "expired"),
    Expiring("an ID token at oauth", an_id_token_at("oauth"), 3_600, 400, "expired"),
    Expiring("an ID token in a stamp", an_id_token_in_a_stamp, 3_600, 401, "expired"),
    Expiring("an ID token that is attached", an_id_token_that_is_attached, 3_600, 400, "expired"),
    Expiring("an ID token at the proxy's account", an_id_token_at_the_proxy("account"), 3_600, 400, "expired"),
    Expiring("an ID token at the proxy's login", an_id_token_at_the_proxy("oauth_login"), 3_600, 400, "expired"),
    Expiring("an ID token at the proxy's sign-up", an_id_token_at_the_proxy("signup_v2"), 3_600, 400, "expired"),
    Expiring("an ID token of this server", an_id_token_of_this_server, 900, 400, "expired"),
    Expiring("a session that asks", a_session_that_asks, 900, 401, SESSION),
    Expiring("a session of a day", a_session_of_a_day, 86_400, 401, SESSION),
    Expiring("a session that submits", a_session_that_submits, 900, 401, SESSION),
    Expiring("a session that is refreshed", a_session_that_is_refreshed, 900, 401, SESSION),
    Expiring("a session of a shorter profile", a_session_of_a_shorter_profile, 600, 401, SESSION),
    Expiring("a read-write session", a_read_write_session, 900, 401, SESSION),
    Expiring("a session of otp_auth", a_session_of_otp_auth, 900, 401, SESSION),
    Expiring("a session of oauth", a_session_of_oauth, 900, 401, SESSION),
    Expiring("a session of email_auth", a_session_of_email_auth, 900, 401, SESSION),
    Expiring("a read-only session", a_read_only_session, 3_600, 401, "expired"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_in_time_and_too_late(codes: Codes, case: Expiring) -> None:
    in_time = case.prepare(codes)()
    assert in_time.status_code == 200, in_time.text
    too_late = case.prepare(codes)
    advance(codes, case.lasts_s)
    status, message = refusal(too_late())
    assert (status, case.text in message) == (case.status, True), message


LATE_CODES: list[tuple[str, int, int]] = [("60", 400, 200), ("300", 400, 300), ("600", 400, 600), ("60", 590, 60)]
"""How long a code is asked for, when in its window it is sent, how long it lasts."""


@pytest.mark.parametrize(("asked_s", "sent_s", "lasts_s"), LATE_CODES)
def test_a_code_lasts_as_long_as_is_asked_and_as_its_window(
    codes: Codes, asked_s: str, sent_s: int, lasts_s: int
) -> None:
    in_time, too_late = an_address(), an_address()
    for address in (in_time, too_late):
        codes.started(address)
    advance(codes, sent_s)
    begun = [codes.started(address, expirationSeconds=asked_s) for address in (in_time, too_late)]
    sent = [codes.outbox.code(address, count=2) for address in (in_time, too_late)]
    minutes = max(1, round(lasts_s / 60))
    assert f"It is valid for {minutes} minute" in codes.outbox.messages(in_time)[1].text
    advance(codes, lasts_s - 10)
    assert codes.verify(begun[0], sent[0]).status_code == 200
    advance(codes, 10)
    assert "it has expired" in refusal(codes.verify(begun[1], sent[1]))[1]


def test_a_contact_has_room_again_when_its_window_has_ended(codes: Codes) -> None:
    """A window begins with its first message. No code that is short, used or locked ends it earlier."""
    address = an_address()
    for count in (1, 4):
        begun = [codes.started(address, expirationSeconds="1")]
        sent = codes.outbox.code(address, count=count)
        advance(codes, 300)
        begun += [codes.started(address, expirationSeconds="1") for _ in range(2)]
        assert codes.verify(begun[0], sent).status_code == 200
        for _ in range(3):
            codes.verify(begun[1], "WRONG-ONE")
        advance(codes, 299)
        response = codes.caller.submit("init_otp", code_params(address), SDK_FORM)
        assert refusal(response)[0] == 429
        advance(codes, 1)


def test_a_window_has_nine_attempts_also_at_codes_that_outlast_the_one_before(codes: Codes) -> None:
    """Three codes are sent at the end of a window and three in the next: of 18 attempts at them 9 are made."""
    address = an_address()
    begun = [codes.started(address)]
    advance(codes, 590)
    begun += [codes.started(address, expirationSeconds="600") for _ in range(2)]
    advance(codes, 10)
    begun += [codes.started(address) for _ in range(3)]
    told = [refusal(codes.verify(each, f"WRONG-{number}")) for number in range(3) for each in begun[1:]]
    assert [status for status, _ in told] == [400] * 9 + [429] * 6
    assert all("Invalid OTP code: 9 codes were tried for this contact" in text for _, text in told[9:])
    assert refusal(codes.verify(begun[-1], codes.outbox.code(address, count=6)))[0] == 429
    advance(codes, 600)
    assert codes.token(codes.started(address), codes.outbox.code(address, count=7)).contact == address


def test_codes_of_a_contact_become_longer_after_wrong_guesses_and_still_log_its_owner_in(codes: Codes) -> None:
    """Windows that end take no guess back, and a code that is used takes back its own attempts alone. Other
    contacts keep their codes."""
    address, other, sent = an_address(), an_address(), itertools.count(1)
    six_digits = {"otpLength": 6, "alphanumeric": False}

    def new_code() -> tuple[dict[str, Any], str]:
        begun = codes.started(address, **six_digits)
        return begun, codes.outbox.code(address, count=next(sent))

    def guess(times: int) -> None:
        begun, right = new_code()
        wrong = right.replace(right[0], str((int(right[0]) + 1) % 10))
        told = [refusal(codes.verify(begun, wrong)) for _ in range(times)]
        assert all(status == 400 and "wrong code" in text for status, text in told), told

    for _ in range(3):
        for _ in range(3):
            guess(3)
        advance(codes, 600)
    for times in (3, 1):
        guess(times)  # 31 in all
    begun, right = new_code()
    assert re.fullmatch("[0-9]{6}", right)
    assert refusal(codes.verify(begun, "x"))[0] == 400
    assert codes.token(begun, right).contact == address, "its owner mistypes once"
    advance(codes, 600)
    guess(1)
    begun, right = new_code()
    assert re.fullmatch("[0-9]{7}", right), "32 wrong attempts at codes that nobody used"
    assert codes.token(begun, right).contact == address
    codes.started(other, **six_digits)
    assert re.fullmatch("[0-9]{6}", codes.outbox.code(other))


def test_a_user_identifier_has_room_again_after_three_minutes(codes: Codes) -> None:
    user = unique("user")
    for _ in range(2):
        for _ in range(3):
            codes.started(an_address(), userIdentifier=user)
        response = codes.caller.submit("init_otp", code_params(an_address(), userIdentifier=user), SDK_FORM)
        assert refusal(response)[0] == 429
        advance(codes, 180)


def test_a_session_that_is_extended_lasts_from_then_on(codes: Codes) -> None:
    user, key = new_person(codes).caller, generate_api_key()
    session = user.with_key(key, user.user_id)
    asked = {"publicKey": key.public_key, "expirationSeconds": "3600"}
    user.submitted("stamp_login", asked)
    advance(codes, 3_000)
    user.submitted("stamp_login", asked)
    advance(codes, 3_000)
    assert session.ask("whoami").status_code == 200
    advance(codes, 600)
    assert refusal(session.ask("whoami"))[0] == 401
