"""Required methods of MFA policies that name one credential or profile, and what a session proves.

Each person has two of every credential. Not here: conditions, orders and several steps (`pipeline/test_mfa_flows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from keystead.stamps.signing import generate_api_key
from tests.support.callers import Caller, Headers, answered, unique
from tests.support.codes import Codes
from tests.support.organization_fixtures import mfa_policy_params, session_profile_params
from tests.support.passkeys import SoftPasskey
from tests.support.people import Person, id_token, new_person
from tests.support.sessions import attested, logged_in

pytestmark = pytest.mark.one_engine

NO_PROFILE = "00000000-0000-0000-0000-000000000000"
TAGS = "activity.kind == 'CREATE_USER_TAG'"


@dataclass(frozen=True)
class Credentials:
    """`ids`: of what a required method may name. The passkey and the identity that prove are the first ones."""

    person: Person
    passkey: SoftPasskey
    ids: dict[str, str]


def new_credentials(codes: Codes) -> Credentials:
    person, passkey, subject = new_person(codes), SoftPasskey(), unique("subject")
    user = person.caller
    own: dict[str, Any] = {"userId": user.user_id}
    other_passkey, other_identity = SoftPasskey(), {"providerName": "2", "oidcToken": id_token(codes, subject, "")}
    passkeys = [passkey.params(), other_passkey.params()]
    made = user.result("create_authenticators", own | {"authenticators": passkeys})["authenticatorIds"]
    (provider,) = user.asked("get_user", **own)["user"]["oauthProviders"]
    (other_provider,) = user.result("create_oauth_providers", own | {"oauthProviders": [other_identity]})[
        "providerIds"
    ]
    profile = codes.caller.result("create_session_profile", session_profile_params(TAGS))["sessionProfileId"]
    ids = {
        "the passkey": made[0],
        "another passkey": made[1],
        "the identity": provider["providerId"],
        "another identity": other_provider,
        "no profile": NO_PROFILE,
        "the profile": profile,
    }
    return Credentials(person, passkey, ids)


# How a person makes a tag. Each answers the activity.

Proof = Callable[[Credentials, dict[str, Any]], dict[str, Any]]


def by_key(of: Credentials, tag: dict[str, Any]) -> dict[str, Any]:
    return submitted(of.person.caller, tag)


def by_passkey(of: Credentials, tag: dict[str, Any]) -> dict[str, Any]:
    return submitted(of.person.caller, tag, of.passkey.stamp)


def by_identity(of: Credentials, tag: dict[str, Any]) -> dict[str, Any]:
    """An attested stamp approves what the API key submitted."""
    caller, key = of.person.caller, generate_api_key()
    body = caller.submit_body("approve_activity", {"fingerprint": by_key(of, tag)["fingerprint"]})
    headers = attested(key, "OIDC", of.person.id_token(key.public_key), body)
    return activity(caller.http.post("/public/v1/submit/approve_activity", content=body, headers=headers))


def by_session(of: Credentials, tag: dict[str, Any]) -> dict[str, Any]:
    """The API key began it."""
    return submitted(logged_in(of.person.caller), tag)


def by_session_of_a_passkey(of: Credentials, tag: dict[str, Any]) -> dict[str, Any]:
    caller, key = of.person.caller, generate_api_key()
    body = caller.submit_body("stamp_login", {"publicKey": key.public_key})
    path, headers = "/public/v1/submit/stamp_login", of.passkey.stamp(body)
    answered(caller.http.post(path, content=body, headers=headers))
    return submitted(caller.with_key(key), tag)


def by_session_of_an_identity(of: Credentials, tag: dict[str, Any]) -> dict[str, Any]:
    key = generate_api_key()
    asked = {"oidcToken": of.person.id_token(key.public_key), "publicKey": key.public_key}
    of.person.codes.caller.submitted("oauth_login", asked)
    return submitted(of.person.caller.with_key(key), tag)


def by_session_under_the_profile(of: Credentials, tag: dict[str, Any]) -> dict[str, Any]:
    return submitted(logged_in(of.person.caller, sessionProfileId=of.ids["the profile"]), tag)


def submitted(
    caller: Caller, tag: dict[str, Any], stamp: Callable[[bytes], Headers] | None = None
) -> dict[str, Any]:
    body = caller.submit_body("create_user_tag", tag)
    headers = (stamp or caller.stamped)(body)
    return activity(caller.http.post("/public/v1/submit/create_user_tag", content=body, headers=headers))


def activity(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answered(answer)["activity"]
    return found


class Case(NamedTuple):
    method: str
    names: str
    proof: Proof
    is_met: bool


CASES = [
    Case("PASSKEY", "the passkey", by_passkey, True),
    Case("PASSKEY", "another passkey", by_passkey, False),
    Case("OAUTH", "the identity", by_identity, True),
    Case("OAUTH", "another identity", by_identity, False),
    Case("SESSION", "no profile", by_session, True),
    Case("SESSION", "no profile", by_session_under_the_profile, False),
    Case("SESSION", "no profile", by_key, False),
    Case("SESSION", "the profile", by_session_under_the_profile, True),
    Case("SESSION", "the profile", by_session, False),
    Case("SESSION", "", by_session_under_the_profile, True),
    # A session proves a session, whatever began it.
    Case("SESSION", "no profile", by_session_of_a_passkey, True),
    Case("PASSKEY", "", by_session_of_a_passkey, False),
    Case("PASSKEY", "the passkey", by_session_of_a_passkey, False),
    Case("OAUTH", "", by_session_of_an_identity, False),
    Case("API_KEY", "", by_session, False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.method} {case.names}: {case.proof.__name__}")
def test_which_proof_meets_a_required_method(codes: Codes, case: Case) -> None:
    of = new_credentials(codes)
    method = {"type": f"AUTHENTICATION_TYPE_{case.method}"} | ({"id": of.ids[case.names]} if case.names else {})
    policy = mfa_policy_params(of.person.caller.user_id, [method]) | {"condition": TAGS}
    of.person.caller.submitted("create_mfa_policy", policy)
    status = case.proof(of, {"userTagName": unique("tag"), "userIds": []})["status"]
    assert status == f"ACTIVITY_STATUS_{'COMPLETED' if case.is_met else 'AUTHENTICATORS_NEEDED'}"
