"""Logins by stamp over HTTP: the session's token, key, profile and end; logins that name the parent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support import bundles
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, now_ms, refusal, unique
from tests.support.organization_fixtures import mfa_policy_params, policy_params, session_profile_params
from tests.support.passkeys import SoftPasskey
from tests.support.servers import bootstrap_installation, running
from tests.support.sessions import claims_of, logged_in

ANOTHER_SESSION = "a session under session profile"
GONE = "could not find public key in organization or its parent organization"


@pytest.fixture(scope="module")
def parent(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    installation = bootstrap_installation(make_database())
    with running(installation, tmp_path_factory.mktemp("logins") / "log") as server:
        yield server.caller
    installation.database.close()


@pytest.fixture(scope="module")
def user(parent: Caller) -> Caller:
    """The root user of a sub-organization."""
    return new_sub_organization(parent)


def api_keys(caller: Caller) -> list[Any]:
    keys: list[Any] = caller.asked("get_api_keys", userId=caller.user_id)["apiKeys"]
    return keys


def named(caller: Caller, organization: Caller) -> Caller:
    """The caller, naming the other's organization in what it sends."""
    return caller.with_key(caller.key, caller.user_id, organization.organization_id)


# What a login gives.


def test_a_login_gives_a_token_and_an_expiring_key(user: Caller) -> None:
    key = generate_api_key()
    before_s = now_ms() // 1000
    result = user.result("stamp_login", {"publicKey": key.public_key, "expirationSeconds": "1800"})
    claims = claims_of(user, result["session"])
    assert list(claims) == ["exp", "public_key", "session_type", "user_id", "organization_id"]
    assert before_s + 1800 <= claims.pop("exp") <= now_ms() // 1000 + 1800
    assert claims == {
        "public_key": key.public_key,
        "session_type": "SESSION_TYPE_READ_WRITE",
        "user_id": user.user_id,
        "organization_id": user.organization_id,
    }
    (recorded,) = [one for one in api_keys(user) if one["credential"]["publicKey"] == key.public_key]
    assert recorded["credential"]["type"] == "CREDENTIAL_TYPE_LOGIN"
    assert recorded["expirationSeconds"] == "1800"
    assert user.with_key(key).asked("whoami")["userId"] == user.user_id


def test_without_an_expiration_it_lasts_fifteen_minutes(user: Caller) -> None:
    assert api_keys(logged_in(user))[-1]["expirationSeconds"] == "900"


def test_an_uncompressed_key_is_recorded_compressed(user: Caller) -> None:
    key = bundles.fresh()
    result = user.result("stamp_login", {"publicKey": bundles.point(key).hex()})
    assert claims_of(user, result["session"])["public_key"] == bundles.compressed(key).hex()


def test_the_same_key_again_extends_its_session(user: Caller) -> None:
    key = generate_api_key()
    for seconds in ("60", "120"):
        user.submitted("stamp_login", {"publicKey": key.public_key, "expirationSeconds": seconds})
    same = [one for one in api_keys(user) if one["credential"]["publicKey"] == key.public_key]
    assert [one["expirationSeconds"] for one in same] == ["120"]


def test_a_session_renews_itself(user: Caller) -> None:
    assert logged_in(logged_in(user)).asked("whoami")["userId"] == user.user_id


def test_the_same_bytes_again_give_the_same_session(user: Caller) -> None:
    body = user.submit_body("stamp_login", {"publicKey": generate_api_key().public_key})
    first, again = (answered(user.post("/public/v1/submit/stamp_login", body))["activity"] for _ in range(2))
    assert (first["id"], first["result"]) == (again["id"], again["result"])


BAD_LOGINS: list[tuple[dict[str, Any], str]] = [
    ({}, "publicKey"),
    ({"publicKey": ""}, "invalid api public key"),
    ({"publicKey": "02" + "ff" * 32}, "invalid api public key"),
    ({"publicKey": "05" + "11" * 32}, "invalid api public key"),
    ({"publicKey": "02" + "17" * 31}, "invalid api public key"),
    ({"publicKey": "z" * 66}, "invalid api public key"),
    ({"publicKey": 7}, "publicKey"),
    *[
        ({"publicKey": "02" + "17" * 32, "expirationSeconds": bad}, "expirationSeconds")
        for bad in ("0", "-1", "", "ten", "1.5", "9" * 30, "2592001", 900)
    ],
    ({"publicKey": "02" + "17" * 32, "invalidateExisting": "yes"}, "invalidateExisting"),
    ({"publicKey": "02" + "17" * 32, "userId": "x"}, "userId"),
]


@pytest.mark.parametrize(("parameters", "said"), BAD_LOGINS, ids=str)
def test_a_bad_login_is_refused_by_field(parameters: dict[str, Any], said: str, user: Caller) -> None:
    if parameters.get("publicKey") == "02" + "17" * 32:
        parameters = parameters | {"publicKey": generate_api_key().public_key}
    before = api_keys(user)
    status, message = refusal(user.submit("stamp_login", parameters))
    assert (status, said in message) == (400, True), message
    assert api_keys(user) == before


def test_an_unknown_profile_is_refused(user: Caller) -> None:
    unknown = {"publicKey": generate_api_key().public_key, "sessionProfileId": user.user_id}
    status, message = refusal(user.submit("stamp_login", unknown))
    assert (status, "there is no session profile" in message) == (400, True), message


def test_a_key_of_somebody_else_is_refused(parent: Caller, user: Caller) -> None:
    """In the same organization, and in a sister organization, whose user would be locked out by it."""
    colleague, sister = user.new_user(), new_sub_organization(parent)
    for taken in (colleague.key, sister.key, user.key):
        status, message = refusal(user.submit("stamp_login", {"publicKey": taken.public_key}))
        assert status == 400, message
    assert sister.asked("whoami")["userId"] == sister.user_id


# How a session ends.


def test_invalidating_ends_the_users_other_sessions(user: Caller) -> None:
    colleague = user.new_user()
    older, untouched = logged_in(user), logged_in(colleague)
    newer = logged_in(user, invalidateExisting=True)
    status, message = refusal(older.ask("whoami"))
    assert (status, "could not find public key in organization or its parent organization" in message) == (
        401,
        True,
    )
    for caller in (newer, untouched, user):
        assert caller.ask("whoami").status_code == 200


def test_the_eleventh_session_ends_the_oldest(user: Caller) -> None:
    colleague = user.new_user()
    sessions = [logged_in(colleague) for _ in range(11)]
    assert [session.ask("whoami").status_code for session in sessions] == [401, *[200] * 10]
    assert colleague.ask("whoami").status_code == 200


def test_an_expired_session_is_told_so(user: Caller) -> None:
    session = logged_in(user, expirationSeconds="1")
    while session.ask("whoami").status_code == 200:
        time.sleep(0.05)
    for answer in (session.ask("whoami"), session.submit("stamp_login", {"publicKey": user.key.public_key})):
        status, message = refusal(answer)
        assert (status, "Unauthenticated desc = expired api key publicKey" in message) == (401, True), message


def _delete_key(root: Caller, session: Caller) -> None:
    keys = {"userId": session.user_id, "apiKeyIds": [api_keys(session)[-1]["apiKeyId"]]}
    root.submitted("delete_api_keys", keys)


def _delete_user(root: Caller, session: Caller) -> None:
    root.submitted("delete_users", {"userIds": [session.user_id]})


def _delete_organization(root: Caller, _: Caller) -> None:
    root.submitted("delete_sub_organization", {"deleteWithoutExport": True})


@pytest.mark.parametrize("end", [_delete_key, _delete_user, _delete_organization])
def test_a_deletion_ends_the_session(end: Callable[[Caller, Caller], None], parent: Caller) -> None:
    root = new_sub_organization(parent)
    session = logged_in(root.new_user())
    end(root, session)
    assert session.ask("whoami").status_code in (401, 404)
    assert session.submit("stamp_login", {"publicKey": generate_api_key().public_key}).status_code in (401, 404)


# A login that names the parent.


def test_an_api_key_finds_its_sub_organization(parent: Caller, user: Caller) -> None:
    session = logged_in(named(user, parent))
    assert (session.organization_id, session.user_id) == (user.organization_id, user.user_id)
    assert session.asked("whoami")["organizationId"] == user.organization_id


def test_the_activity_is_the_sub_organizations(parent: Caller, user: Caller) -> None:
    asker = named(user, parent)
    activity = asker.submitted("stamp_login", {"publicKey": generate_api_key().public_key})
    assert activity["organizationId"] == user.organization_id
    assert user.asked("get_activity", activityId=activity["id"])["activity"]["id"] == activity["id"]
    assert asker.asked("get_activity", activityId=activity["id"])["activity"]["id"] == activity["id"]


def test_a_passkey_finds_its_sub_organization(parent: Caller) -> None:
    passkey = SoftPasskey()
    root = new_sub_organization(parent)
    root.submitted("create_authenticators", {"userId": root.user_id, "authenticators": [passkey.params()]})
    key = generate_api_key()
    body = parent.submit_body("stamp_login", {"publicKey": key.public_key})
    answer = parent.http.post("/public/v1/submit/stamp_login", content=body, headers=passkey.stamp(body) | SDK_FORM)
    claims = claims_of(parent, answered(answer)["activity"]["result"]["stampLoginResult"]["session"])
    assert (claims["organization_id"], claims["user_id"]) == (root.organization_id, root.user_id)


def test_a_key_in_two_sub_organizations_is_ambiguous(parent: Caller) -> None:
    shared = generate_api_key()
    for _ in range(2):
        new_sub_organization(parent, more_api_keys=[api_key_params(shared.public_key)])
    asker = parent.with_key(shared)
    status, message = refusal(asker.submit("stamp_login", {"publicKey": generate_api_key().public_key}))
    assert (status, "more than one suborg associated with a public key" in message) == (401, True), message


def test_a_key_of_the_parent_too_logs_in_to_the_organization_that_is_named(parent: Caller) -> None:
    shared = generate_api_key()
    of_parent = parent.result(
        "create_users",
        {
            "users": [
                {
                    "userName": unique("user"),
                    "apiKeys": [api_key_params(shared.public_key)],
                    "authenticators": [],
                    "oauthProviders": [],
                    "userTags": [],
                }
            ]
        },
    )["userIds"][0]
    sub = new_sub_organization(parent, more_api_keys=[api_key_params(shared.public_key)])
    asker = parent.with_key(shared)
    assert logged_in(asker).user_id == of_parent
    assert logged_in(named(asker, sub)).user_id == sub.user_id


def test_other_submissions_do_not_find_the_sub_organization(parent: Caller, user: Caller) -> None:
    status, message = refusal(named(user, parent).submit("create_user_tag", {"userTagName": "x", "userIds": []}))
    assert (status, "could not find public key" in message) == (401, True), message


def test_a_stranger_finds_nothing(parent: Caller) -> None:
    stranger = parent.with_key(generate_api_key())
    status, message = refusal(stranger.submit("stamp_login", {"publicKey": generate_api_key().public_key}))
    assert (status, "could not find public key" in message) == (401, True), message


def test_a_user_of_the_parent_logs_in_nobody_else(parent: Caller, user: Caller) -> None:
    asker = named(parent, user)
    status, message = refusal(asker.submit("stamp_login", {"publicKey": generate_api_key().public_key}))
    assert (status, "organization mismatch" in message) == (400, True), message


# Session profiles.


@pytest.fixture(scope="module")
def signing_only(parent: Caller) -> str:
    params = session_profile_params("activity.resource == 'PRIVATE_KEY'", expirationSeconds="600")
    profile_id: str = parent.result("create_session_profile", params)["sessionProfileId"]
    return profile_id


def test_a_profile_reads_back(parent: Caller, user: Caller, signing_only: str) -> None:
    for caller in (parent, user):
        profile = caller.asked("get_session_profile", sessionProfileId=signing_only)["sessionProfile"]
        assert (profile["scope"], profile["expirationSeconds"]) == ("activity.resource == 'PRIVATE_KEY'", "600")
        assert profile in caller.asked("get_session_profiles")["sessionProfiles"]


def test_the_token_names_the_profile(user: Caller, signing_only: str) -> None:
    key = generate_api_key()
    asked = {"publicKey": key.public_key, "sessionProfileId": signing_only, "expirationSeconds": "3600"}
    claims = claims_of(user, user.result("stamp_login", asked)["session"])
    profile = user.asked("get_session_profile", sessionProfileId=signing_only)["sessionProfile"]
    assert claims["session_type"] == profile["sessionProfileName"]
    assert (claims["session_profile_id"], claims["scope"]) == (signing_only, profile["scope"])
    assert claims["exp"] <= now_ms() // 1000 + 600
    (recorded,) = [one for one in api_keys(user) if one["credential"]["publicKey"] == key.public_key]
    assert recorded["credential"]["sessionProfileId"] == signing_only


def test_a_profile_limits_submissions_of_a_root_user(user: Caller, signing_only: str) -> None:
    session = logged_in(user, sessionProfileId=signing_only)
    session.submitted("create_private_key_tag", {"privateKeyTagName": unique("tag"), "privateKeyIds": []})
    status, message = refusal(session.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []}))
    assert (status, "The session's profile does not cover it" in message) == (403, True), message
    assert session.ask("list_users").status_code == 200


def test_a_profile_limits_votes_by_what_is_voted_on(user: Caller, signing_only: str) -> None:
    proposer = user.new_user()
    anybody = "approvers.count() >= 2"
    for condition in ("activity.resource == 'USER'", "activity.resource == 'PRIVATE_KEY'"):
        user.submitted("create_policy", policy_params(condition=condition, consensus=anybody))
    session = logged_in(user, sessionProfileId=signing_only)
    tag = proposer.submit("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    fingerprint = answered(tag)["activity"]["fingerprint"]
    for vote in ("approve_activity", "reject_activity"):
        status, message = refusal(session.submit(vote, {"fingerprint": fingerprint}))
        assert (status, "The session's profile does not cover it" in message) == (403, True), message
    key_tag = proposer.submit("create_private_key_tag", {"privateKeyTagName": unique("tag"), "privateKeyIds": []})
    session.submitted("approve_activity", {"fingerprint": answered(key_tag)["activity"]["fingerprint"]})


def test_a_session_under_a_profile_cannot_leave_it(parent: Caller, user: Caller) -> None:
    everything = parent.result("create_session_profile", session_profile_params("true || activity.type == ''"))
    profile_id = everything["sessionProfileId"]
    session = logged_in(user, sessionProfileId=profile_id)
    key = generate_api_key().public_key
    for name, parameters in (
        ("stamp_login", {"publicKey": key}),
        ("create_read_write_session", {"targetPublicKey": key}),
    ):
        status, message = refusal(session.submit(name, parameters))
        assert (status, ANOTHER_SESSION in message) == (403, True), message
    assert logged_in(session, sessionProfileId=profile_id).ask("whoami").status_code == 200


BAD_PROFILES: list[tuple[dict[str, Any], str]] = [
    ({"scope": ""}, "scope"),
    ({"scope": "activity.nothing == 'x'"}, "scope"),
    ({"scope": "approvers.count() > 1"}, "scope"),
    ({"scope": "1 +"}, "scope"),
    ({"expirationSeconds": "0"}, "expirationSeconds"),
    ({"expirationSeconds": "2592001"}, "expirationSeconds"),
    ({"sessionProfileName": ""}, "sessionProfileName"),
]


@pytest.mark.parametrize(("members", "said"), BAD_PROFILES, ids=str)
def test_a_bad_profile_is_refused(members: dict[str, Any], said: str, parent: Caller) -> None:
    status, message = refusal(parent.submit("create_session_profile", session_profile_params() | members))
    assert (status, said in message) == (400, True), message


# Sessions whose key the server makes.


def test_a_read_write_session_gives_a_key_in_a_bundle(user: Caller) -> None:
    target = bundles.fresh()
    result = user.result("create_read_write_session", {"targetPublicKey": bundles.point(target).hex()})
    assert (result["organizationId"], result["userId"]) == (user.organization_id, user.user_id)
    made = bundles.credential(result["credentialBundle"], target)
    recorded = user.asked("get_api_key", apiKeyId=result["apiKeyId"])["apiKey"]
    assert recorded["credential"] == {
        "publicKey": bundles.compressed(made).hex(),
        "type": "CREDENTIAL_TYPE_READ_WRITE_SESSION_KEY_P256",
    } | {name: value for name, value in recorded["credential"].items() if name == "sessionProfileId"}
    assert recorded["apiKeyName"].startswith("Read Write Session - ")
    assert recorded["expirationSeconds"] == "900"


def test_a_root_user_begins_a_session_of_another_user_by_id_or_email(parent: Caller, user: Caller) -> None:
    email = f"{unique('ada').replace(' ', '.')}@Example.com"
    other, target = parent.new_user(userEmail=email), bundles.point(bundles.fresh()).hex()
    by_id = parent.result("create_read_write_session", {"targetPublicKey": target, "userId": other.user_id})
    older = {"type": "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION"}
    asked = {"targetPublicKey": target, "email": email.lower()}
    by_email = parent.submitted("create_read_write_session", asked, SDK_FORM, **older)["result"]
    assert by_id["userId"] == by_email["createReadWriteSessionResult"]["userId"] == other.user_id


def test_an_address_that_a_sub_organization_wrote_names_its_user_only_to_that_user(user: Caller) -> None:
    own, others = (f"{unique('ada').replace(' ', '.')}@example.com" for _ in range(2))
    user.submitted("update_user_email", {"userId": user.user_id, "userEmail": own})
    user.new_user(userEmail=others)
    older = {"type": "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION"}
    asked = {"targetPublicKey": bundles.point(bundles.fresh()).hex()}
    begun = user.submitted("create_read_write_session", asked | {"email": own.upper()}, SDK_FORM, **older)
    assert begun["result"]["createReadWriteSessionResult"]["userId"] == user.user_id
    answer = user.submit("create_read_write_session", asked | {"email": others}, SDK_FORM, **older)
    status, message = refusal(answer)
    assert (status, "no user of the parent wrote it" in message) == (404, True), message


def test_an_ordinary_user_begins_sessions_of_that_user_alone(user: Caller) -> None:
    ordinary, target = user.new_user(), bundles.point(bundles.fresh()).hex()
    assert ordinary.result("create_read_write_session", {"targetPublicKey": target})["userId"] == ordinary.user_id
    asked = {"targetPublicKey": target, "userId": user.user_id}
    assert refusal(ordinary.submit("create_read_write_session", asked))[0] == 403


# MFA.


def test_under_an_mfa_policy_a_login_waits_for_the_proofs(user: Caller) -> None:
    colleague, passkey = user.new_user(), SoftPasskey()
    user.submitted("create_authenticators", {"userId": colleague.user_id, "authenticators": [passkey.params()]})
    policy = mfa_policy_params(colleague.user_id, [{"type": "AUTHENTICATION_TYPE_PASSKEY"}])
    user.submitted("create_mfa_policy", policy | {"condition": "activity.resource == 'AUTH'"})
    key = generate_api_key()
    login = answered(colleague.submit("stamp_login", {"publicKey": key.public_key}, SDK_FORM))["activity"]
    assert (login["status"], login["result"]) == ("ACTIVITY_STATUS_AUTHENTICATORS_NEEDED", {})
    assert colleague.with_key(key).ask("whoami").status_code == 401
    body = colleague.submit_body("approve_activity", {"fingerprint": login["fingerprint"]})
    approved = answered(
        colleague.http.post(
            "/public/v1/submit/approve_activity", content=body, headers=passkey.stamp(body) | SDK_FORM
        )
    )["activity"]
    assert claims_of(colleague, approved["result"]["stampLoginResult"]["session"])["public_key"] == key.public_key
    assert colleague.with_key(key).asked("whoami")["userId"] == colleague.user_id


def test_a_session_proves_the_profile_that_it_is_under(parent: Caller, user: Caller) -> None:
    profile = parent.result("create_session_profile", session_profile_params("activity.resource == 'WALLET'"))
    colleague = user.new_user()
    allowed = policy_params(condition="activity.resource == 'WALLET'", consensus="")
    user.submitted("create_policy", allowed)
    step = {"type": "AUTHENTICATION_TYPE_SESSION", "id": profile["sessionProfileId"]}
    policy = mfa_policy_params(colleague.user_id, [step]) | {"condition": "activity.resource == 'WALLET'"}
    user.submitted("create_mfa_policy", policy)
    wallet = {"walletName": unique("wallet"), "accounts": []}
    for caller, expected in (
        (colleague, "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"),
        (logged_in(colleague), "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"),
        (logged_in(colleague, sessionProfileId=profile["sessionProfileId"]), "ACTIVITY_STATUS_COMPLETED"),
    ):
        wallet["walletName"] = unique("wallet")
        assert answered(caller.submit("create_wallet", wallet))["activity"]["status"] == expected
