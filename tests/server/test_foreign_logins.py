"""Logging in as somebody of another organization, over HTTP on both databases: each way, and nothing comes of it.

The adversary is the root user of a sister organization, or of another parent with a sub-organization of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.server.test_auth_proxy import ask, new_proxy, sign_up
from tests.support import bundles
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, refusal
from tests.support.codes import Codes, outbox_of, signup_signature
from tests.support.example_codes import an_address, code_params
from tests.support.issuers import taking_tokens
from tests.support.organization_fixtures import session_profile_params
from tests.support.passkeys import SoftPasskey
from tests.support.people import Person, attested_login, new_person, otp_login_params
from tests.support.servers import bootstrap_installation, running, user_with_key


class Place(NamedTuple):
    """`stranger` is the root user of another parent organization, `sister` of a sister sub-organization."""

    codes: Codes
    stranger: Codes
    victim: Person
    sister: Caller


@pytest.fixture(scope="module")
def place(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    installation, folder = bootstrap_installation(make_database(), mode="dev"), tmp_path_factory.mktemp("foreign")
    with running(installation, folder / "log", taking_tokens(folder)) as server:
        codes = Codes(server, server.caller, outbox_of(server))
        key = generate_api_key()
        user = user_with_key(key)
        other = installation.add_organization(user)
        stranger = codes._replace(caller=codes.caller.with_key(key, user.user_id, other.id))
        yield Place(codes, stranger, new_person(codes), new_sub_organization(codes.caller))
    installation.database.close()


def naming(caller: Caller, organization: Caller) -> Caller:
    """The caller, whose requests name the other's organization."""
    return replace(caller, organization_id=organization.organization_id)


def new_key() -> str:
    return generate_api_key().public_key


def target() -> str:
    return bundles.point(bundles.fresh()).hex()


# With credentials of one's own.


def by_own_key(place: Place) -> httpx.Response:
    return naming(place.sister, place.victim.caller).submit("stamp_login", {"publicKey": new_key()})


def by_own_passkey(place: Place) -> httpx.Response:
    passkey = SoftPasskey()
    asked = {"userId": place.sister.user_id, "authenticators": [passkey.params()]}
    place.sister.submitted("create_authenticators", asked)
    body = place.victim.caller.submit_body("stamp_login", {"publicKey": new_key()})
    return place.codes.server.http.post(
        "/public/v1/submit/stamp_login", content=body, headers=passkey.stamp(body) | SDK_FORM
    )


def by_own_token_in_a_stamp(place: Place) -> httpx.Response:
    own, key = new_person(place.codes), generate_api_key()
    begun = place.codes.started(own.email)
    response = place.codes.verify(begun, place.codes.outbox.code(own.email), key.public_key)
    token = answered(response)["activity"]["result"]["verifyOtpResult"]["verificationToken"]
    organization_id = place.victim.caller.organization_id
    return attested_login(place.codes, key, "VERIFICATION_TOKEN", token, organizationId=organization_id)


def by_own_id_token_in_a_stamp(place: Place) -> httpx.Response:
    own, key = new_person(place.codes), generate_api_key()
    organization_id = place.victim.caller.organization_id
    return attested_login(place.codes, key, "OIDC", own.id_token(key.public_key), organizationId=organization_id)


def by_own_token_through_the_parent(place: Place) -> httpx.Response:
    """A back end that passes on what a browser asks for: the contact is not of the organization that is named."""
    own = new_person(place.codes)
    asked = otp_login_params(own.verification_token(), new_key())
    return naming(place.codes.caller, place.victim.caller).submit("otp_login", asked)


def by_own_id_token_through_the_parent(place: Place) -> httpx.Response:
    own, key = new_person(place.codes), new_key()
    asked = {"oidcToken": own.id_token(key), "publicKey": key}
    return naming(place.codes.caller, place.victim.caller).submit("oauth_login", asked)


def by_own_token_through_the_proxy(place: Place) -> httpx.Response:
    own = new_person(place.codes)
    asked = otp_login_params(own.verification_token(), new_key())
    organization_id = place.victim.caller.organization_id
    return ask(
        place.codes.caller, new_proxy(place.codes.caller), "otp_login_v2", **asked, organizationId=organization_id
    )


def by_the_proxy_of_another_parent(place: Place) -> httpx.Response:
    """The page names a proxy of the stranger's, and the victim's sub-organization."""
    asked = otp_login_params(place.victim.verification_token(), new_key())
    config_id = new_proxy(place.stranger.caller)
    organization_id = place.victim.caller.organization_id
    return ask(place.stranger.caller, config_id, "otp_login_v2", **asked, organizationId=organization_id)


# With what was issued elsewhere for the victim's contact.


def by_a_token_of_another_parent(place: Place) -> httpx.Response:
    """The stranger's organization issued it, for the same address."""
    asked = otp_login_params(place.stranger.proven(place.victim.email), new_key())
    return naming(place.codes.caller, place.victim.caller).submit("otp_login", asked)


def by_a_token_of_another_parent_that_finds_the_victim(place: Place) -> httpx.Response:
    asked = otp_login_params(place.stranger.proven(place.victim.email), new_key())
    return place.codes.caller.submit("otp_login", asked)


def by_a_token_of_another_parent_in_a_stamp(place: Place) -> httpx.Response:
    key = generate_api_key()
    begun = place.stranger.started(place.victim.email)
    code = place.codes.outbox.code(place.victim.email)
    response = place.stranger.verify(begun, code, key.public_key)
    token = answered(response)["activity"]["result"]["verifyOtpResult"]["verificationToken"]
    return attested_login(place.codes, key, "VERIFICATION_TOKEN", token)


def by_a_token_of_another_parent_at_the_proxy(place: Place) -> httpx.Response:
    config_id, token = new_proxy(place.codes.caller), place.stranger.proven(place.victim.email)
    asked = {"filterType": "EMAIL", "filterValue": place.victim.email, "verificationToken": token}
    return ask(place.codes.caller, config_id, "account", **asked)


def by_a_token_of_a_sister(place: Place) -> httpx.Response:
    sister = place.codes._replace(caller=place.sister)
    asked = otp_login_params(sister.proven(place.victim.email), new_key())
    return naming(place.codes.caller, place.victim.caller).submit("otp_login", asked)


def by_a_token_of_a_sister_that_changes_the_address(place: Place) -> httpx.Response:
    sister = place.codes._replace(caller=place.sister)
    asked = {
        "userId": place.victim.caller.user_id,
        "userEmail": place.victim.email,
        "verificationToken": sister.proven(place.victim.email),
    }
    return place.victim.caller.submit("update_user_email", asked)


def by_a_code_of_a_sister(place: Place) -> httpx.Response:
    begun = place.sister.result("init_otp_auth", code_params(place.victim.email))
    code = place.codes.outbox.code(place.victim.email)
    asked = {"otpId": begun["otpId"], "otpCode": code, "targetPublicKey": target()}
    return place.victim.caller.submit("otp_auth", asked)


# As a user of another organization who asks for the victim's session.


def of_the_victim_by(name: str, caller: str = "sister") -> Callable[[Place], httpx.Response]:
    """The login `name` in the victim's organization, asked for by the sister or the stranger."""

    def attempt(place: Place) -> httpx.Response:
        victim, key = place.victim, new_key()
        asked: dict[str, dict[str, Any]] = {
            "otp_login": otp_login_params(victim.verification_token(), key),
            "oauth_login": {"oidcToken": victim.id_token(key), "publicKey": key},
            "create_read_write_session": {"targetPublicKey": target(), "userId": victim.caller.user_id},
            "email_auth": {
                "email": victim.email,
                "targetPublicKey": target(),
                "emailCustomization": {"appName": "Wallets"},
            },
            "init_otp_auth": code_params(victim.email),
        }
        adversary = place.sister if caller == "sister" else place.stranger.caller
        return naming(adversary, victim.caller).submit(name, asked[name])

    return attempt


def of_the_victim_in_ones_own_organization(place: Place) -> httpx.Response:
    asked = {"targetPublicKey": target(), "userId": place.victim.caller.user_id}
    return place.sister.submit("create_read_write_session", asked)


def under_a_profile_of_another_parent(place: Place) -> httpx.Response:
    made = place.stranger.caller.result("create_session_profile", session_profile_params())
    asked = {"publicKey": new_key(), "sessionProfileId": made["sessionProfileId"]}
    return place.victim.caller.submit("stamp_login", asked)


def under_a_profile_of_a_sister(place: Place) -> httpx.Response:
    made = place.sister.result("create_session_profile", session_profile_params())
    asked = {"publicKey": new_key(), "sessionProfileId": made["sessionProfileId"]}
    return place.victim.caller.submit("stamp_login", asked)


class Foreign(NamedTuple):
    name: str
    attempt: Callable[[Place], httpx.Response]
    status: int
    text: str


UNKNOWN_KEY = "could not find public key in organization"
UNPROVEN = "that the attested stamp proves"
OTHER_ISSUER = "it was issued in another organization"
CASES = [
    Foreign("by one's own key", by_own_key, 401, UNKNOWN_KEY),
    Foreign("by one's own passkey", by_own_passkey, 401, "credential ID could not be found"),
    Foreign("by one's own token in a stamp", by_own_token_in_a_stamp, 401, UNPROVEN),
    Foreign("by one's own ID token in a stamp", by_own_id_token_in_a_stamp, 401, UNPROVEN),
    Foreign("by one's own token through the parent", by_own_token_through_the_parent, 404, "no user of"),
    Foreign("by one's own ID token through the parent", by_own_id_token_through_the_parent, 404, "no user of"),
    Foreign("by one's own token through the proxy", by_own_token_through_the_proxy, 404, "no user of"),
    Foreign("by the proxy of another parent", by_the_proxy_of_another_parent, 401, UNKNOWN_KEY),
    Foreign("by a token of another parent", by_a_token_of_another_parent, 400, OTHER_ISSUER),
    Foreign(
        "by a token of another parent, which finds the victim",
        by_a_token_of_another_parent_that_finds_the_victim,
        400,
        OTHER_ISSUER,
    ),
    Foreign("by a token of another parent in a stamp", by_a_token_of_another_parent_in_a_stamp, 401, UNPROVEN),
    Foreign(
        "by a token of another parent at the proxy",
        by_a_token_of_another_parent_at_the_proxy,
        401,
        "another organization",
    ),
    Foreign("by a token of a sister", by_a_token_of_a_sister, 400, OTHER_ISSUER),
    Foreign(
        "by a token of a sister, which changes the address",
        by_a_token_of_a_sister_that_changes_the_address,
        400,
        OTHER_ISSUER,
    ),
    Foreign("by a code of a sister", by_a_code_of_a_sister, 400, "no code with this id"),
    *[
        Foreign(f"{name} asked for by a {caller}", of_the_victim_by(name, caller), 401, UNKNOWN_KEY)
        for name in ("otp_login", "oauth_login", "create_read_write_session", "email_auth", "init_otp_auth")
        for caller in ("sister", "stranger")
    ],
    Foreign(
        "the victim's session in one's own organization",
        of_the_victim_in_ones_own_organization,
        404,
        "unable to find user",
    ),
    Foreign(
        "under a profile of another parent", under_a_profile_of_another_parent, 400, "there is no session profile"
    ),
    Foreign("under a profile of a sister", under_a_profile_of_a_sister, 400, "there is no session profile"),
]


def held(caller: Caller) -> Any:
    """What a login could add to: the victim's keys and record."""
    return caller.asked("get_user", userId=caller.user_id)["user"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nobody_logs_in_to_anothers_organization(place: Place, case: Foreign) -> None:
    fresh = place._replace(victim=new_person(place.codes))
    before = held(fresh.victim.caller)
    status, message = refusal(case.attempt(fresh))
    assert (status, case.text in message) == (case.status, True), message
    assert held(fresh.victim.caller) == before
    assert all(len(one.secret) < 10 for one in place.codes.outbox.messages(fresh.victim.email)), "codes, no bundles"


def test_a_token_of_another_organization_signs_nobody_up(place: Place) -> None:
    """Through the proxy; a sign-up by the parent is in test_verified_contacts."""
    address = an_address()
    token = place.stranger.proven(address)
    asked = sign_up(
        userEmail=address, verificationToken=token, clientSignature=signup_signature(token, email=address)
    )
    status, message = refusal(ask(place.codes.caller, new_proxy(place.codes.caller), "signup_v2", **asked))
    assert (status, OTHER_ISSUER in message) == (400, True), message
