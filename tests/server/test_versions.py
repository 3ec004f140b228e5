"""Versions of a kind of activity, over HTTP on both databases: a session profile, a policy or an MFA policy names
one version, and a caller sends another.

Not here: every form of naming a version (`tests.policies.test_versions`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.callers import Caller, answered, api_key_params, refusal, unique
from tests.support.organization_fixtures import mfa_policy_params, policy_params, session_profile_params
from tests.support.servers import bootstrap_installation, running
from tests.support.sessions import logged_in

V1, V2 = "ACTIVITY_TYPE_CREATE_API_KEYS", "ACTIVITY_TYPE_CREATE_API_KEYS_V2"
EXCLUDING = [
    f"activity.type != '{V2}'",
    f"!(activity.type in ['{V2}'])",
    f"(activity.type == '{V2}') == false",
    f"['{V2}'].filter(t, t == activity.type).count() == 0",
]


@pytest.fixture(scope="module")
def root(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    installation = bootstrap_installation(make_database())
    with running(installation, tmp_path_factory.mktemp("versions") / "log") as server:
        yield server.caller
    installation.database.close()


def new_key(caller: Caller, activity_type: str) -> httpx.Response:
    """The caller asks for a key of their own."""
    params: dict[str, Any] = api_key_params(generate_api_key().public_key)
    if activity_type == V1:
        del params["curveType"]
    return caller.submit("create_api_keys", {"userId": caller.user_id, "apiKeys": [params]}, type=activity_type)


def keys(caller: Caller) -> int:
    return len(caller.asked("get_api_keys", userId=caller.user_id)["apiKeys"])


@pytest.mark.parametrize("scope", EXCLUDING)
def test_a_session_does_not_leave_its_profile_by_an_older_version(root: Caller, scope: str) -> None:
    profile = root.result("create_session_profile", session_profile_params(scope))
    user = root.new_user()
    session = logged_in(user, sessionProfileId=profile["sessionProfileId"])
    before = keys(user)
    for version in (V1, V2):
        status, message = refusal(new_key(session, version))
        assert (status, "session's profile" in message) == (403, True), message
    assert keys(user) == before
    assert session.ask("whoami").status_code == 200
    for version in (V1, V2):
        assert new_key(user, version).status_code == 200, "without the session"


@pytest.mark.parametrize("condition", EXCLUDING)
def test_an_allow_policy_that_excludes_a_version_allows_none_of_the_kind(root: Caller, condition: str) -> None:
    admin, other = root.new_user(), root.new_user()
    consensus = f"approvers.any(user, user.id == '{admin.user_id}')"
    root.submitted("create_policy", policy_params(condition=condition, consensus=consensus))
    for version in (V1, V2):
        named = api_key_params(generate_api_key().public_key)
        if version == V1:
            del named["curveType"]
        asked = {"userId": other.user_id, "apiKeys": [named]}
        assert refusal(admin.submit("create_api_keys", asked, type=version))[0] == 403
    admin.submitted("create_user_tag", {"userTagName": unique("tag"), "userIds": []})


def test_a_deny_policy_and_an_mfa_policy_cover_every_version(root: Caller) -> None:
    denied, asked = root.new_user(), root.new_user()
    consensus = f"approvers.any(user, user.id == '{denied.user_id}')"
    condition = f"activity.type == '{V2}'"
    root.submitted("create_policy", policy_params(effect="EFFECT_DENY", condition=condition, consensus=consensus))
    policy = mfa_policy_params(asked.user_id, [{"type": "AUTHENTICATION_TYPE_PASSKEY"}])
    root.submitted("create_mfa_policy", policy | {"condition": condition})
    for version in (V1, V2):
        assert refusal(new_key(denied, version))[0] == 403
        activity = answered(new_key(asked, version))["activity"]
        assert activity["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"
