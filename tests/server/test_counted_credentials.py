"""Which credentials count for an approval, over HTTP on both databases: those that existed when the activity was
submitted, and of a credential and the sessions that it began, one.

Not here: what each predicate of a consensus lets add (`tests.policies.test_added_credentials`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support import bundles
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, now_ms, refusal, unique
from tests.support.example_codes import an_address
from tests.support.login_wallets import new_wallet, wallet_params
from tests.support.organization_fixtures import mfa_policy_params, policy_params
from tests.support.passkeys import SoftPasskey
from tests.support.people import holder_of
from tests.support.servers import bootstrap_installation, running
from tests.support.sessions import logged_in

Stamp = Callable[[bytes], dict[str, str]]
_times = map(str, itertools.count(now_ms()))

PASSKEY = "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR"
A_PASSKEY = f"credentials.any(c, c.type == '{PASSKEY}')"
COMPLETED, WAITING, LACKING = (
    f"ACTIVITY_STATUS_{name}" for name in ("COMPLETED", "CONSENSUS_NEEDED", "AUTHENTICATORS_NEEDED")
)


@dataclass(frozen=True)
class User:
    """An ordinary user with an API key. `passkeys`: which were registered for the user by the root user."""

    root: Caller
    key: Caller
    passkeys: list[SoftPasskey] = field(default_factory=list)

    def given_passkey(self) -> SoftPasskey:
        """The root user gives the user a passkey."""
        passkey = SoftPasskey()
        asked = {"userId": self.key.user_id, "authenticators": [passkey.params()]}
        self.root.submitted("create_authenticators", asked)
        self.passkeys.append(passkey)
        return passkey

    def given_key(self) -> Caller:
        key = generate_api_key()
        asked = {"userId": self.key.user_id, "apiKeys": [api_key_params(key.public_key)]}
        self.root.submitted("create_api_keys", asked)
        return replace(self.key, key=key)

    def send(self, name: str, parameters: dict[str, Any], stamp: Stamp | None = None) -> httpx.Response:
        body = self.key.submit_body(name, parameters, timestampMs=next(_times))
        headers = (stamp or self.key.stamped)(body) | SDK_FORM
        return self.key.http.post(f"/public/v1/submit/{name}", content=body, headers=headers)

    def submit(self, name: str, parameters: dict[str, Any], stamp: Stamp | None = None) -> Any:
        return answered(self.send(name, parameters, stamp))["activity"]

    def approve(self, activity: Any, stamp: Stamp) -> str:
        approved = self.submit("approve_activity", {"fingerprint": activity["fingerprint"]}, stamp)
        status: str = approved["status"]
        return status

    def session_of(self, stamp: Stamp) -> Caller:
        """A session that the credential of this stamp begins."""
        key = generate_api_key()
        activity = self.submit("stamp_login", {"publicKey": key.public_key}, stamp)
        assert activity["status"] == COMPLETED
        return replace(self.key, key=key)


@pytest.fixture(scope="module")
def root(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    installation = bootstrap_installation(make_database())
    with running(installation, tmp_path_factory.mktemp("counted") / "log") as server:
        yield server.caller
    installation.database.close()


@pytest.fixture
def user(root: Caller) -> Iterator[User]:
    """Policies are of one test: they count the credentials of everybody."""
    yield User(root, root.new_user())
    policies = [policy["policyId"] for policy in root.asked("list_policies")["policies"]]
    if policies:
        root.submitted("delete_policies", {"policyIds": policies})


def tag() -> dict[str, Any]:
    return {"userTagName": unique("tag"), "userIds": []}


def allow(user: User, consensus: str) -> None:
    condition = "activity.kind == 'CREATE_USER_TAG'"
    user.root.submitted("create_policy", policy_params(consensus=consensus, condition=condition))


def own(user: User, passkey: SoftPasskey) -> dict[str, Any]:
    return {"userId": user.key.user_id, "authenticators": [passkey.params()]}


# A stolen API key.


def test_a_stolen_key_registers_no_passkey(user: User) -> None:
    """The user has no passkey yet: the root quorum gives the first."""
    allow(user, A_PASSKEY)
    thief = SoftPasskey()
    status, message = refusal(user.send("create_authenticators", own(user, thief)))
    assert (status, "an approval with a credential that the policy counts" in message) == (403, True), message
    assert refusal(user.send("create_user_tag", tag(), thief.stamp))[0] == 401
    assert refusal(user.send("create_user_tag", tag()))[0] == 403
    assert user.submit("create_user_tag", tag(), user.given_passkey().stamp)["status"] == COMPLETED


OF_ONE_KIND: list[tuple[str, str, Callable[[], dict[str, Any]]]] = [
    ("CREDENTIAL_TYPE_WALLET", "create_wallet_authenticators", lambda: {"walletAuthenticators": [a_wallet()]}),
    ("CREDENTIAL_TYPE_EMAIL_OTP", "update_user_email", lambda: {"userEmail": an_address()}),
    ("CREDENTIAL_TYPE_EMAIL_OTP", "update_user", lambda: {"userEmail": an_address()}),
    ("CREDENTIAL_TYPE_SMS_OTP", "update_user_phone_number", lambda: {"userPhoneNumber": "+14155550177"}),
    ("CREDENTIAL_TYPE_LOGIN", "stamp_login", lambda: {"publicKey": generate_api_key().public_key}),
    (
        "CREDENTIAL_TYPE_API_KEY_ED25519",
        "create_api_keys",
        lambda: {"apiKeys": [api_key_params("ab" * 32) | {"curveType": "API_KEY_CURVE_ED25519"}]},
    ),
]


def a_wallet() -> dict[str, str]:
    return wallet_params(new_wallet())


@pytest.mark.parametrize(("type_", "name", "parameters"), OF_ONE_KIND, ids=[one[1] for one in OF_ONE_KIND])
def test_a_stolen_key_adds_no_credential_of_a_counted_kind(
    user: User, type_: str, name: str, parameters: Callable[[], dict[str, Any]]
) -> None:
    allow(user, f"credentials.any(c, c.type == '{type_}')")
    mine = f"approvers.any(user, user.id == '{user.key.user_id}')"
    user.root.submitted("create_policy", policy_params(consensus=mine, condition="activity.resource != 'POLICY'"))
    asked = parameters() if name == "stamp_login" else {"userId": user.key.user_id, **parameters()}
    status, message = refusal(user.send(name, asked))
    assert (status, "an approval with a credential that the policy counts" in message) == (403, True), message


def test_a_stolen_key_adds_no_wallet_that_a_step_of_mfa_asks_for(user: User) -> None:
    """The MFA policy is about other activities. What its steps ask for is added only with all of them."""
    policy = mfa_policy_params(user.key.user_id, []) | {
        "condition": "activity.kind == 'CREATE_USER_TAG'",
        "requiredAuthenticationMethods": steps("API_KEY", "WALLET"),
    }
    user.root.submitted("create_mfa_policy", policy)
    asked = {"userId": user.key.user_id, "walletAuthenticators": [a_wallet()]}
    assert user.submit("create_wallet_authenticators", asked)["status"] == LACKING
    assert user.key.asked("get_wallet_authenticators", userId=user.key.user_id)["walletAuthenticators"] == []


def test_it_waits_for_the_passkey_of_its_user(user: User) -> None:
    allow(user, A_PASSKEY)
    owned, added = user.given_passkey(), SoftPasskey()
    activity = user.submit("create_authenticators", own(user, added))
    assert activity["status"] == WAITING
    assert user.send("create_user_tag", tag(), added.stamp).status_code == 401
    (described,) = user.key.asked("describe_activities", activityIds=[activity["id"]])["activityDescriptions"]
    assert [one["userIds"] for one in described["missingApprovals"] if one["policyId"]] == [[user.key.user_id]]
    assert user.approve(activity, owned.stamp) == COMPLETED
    assert user.submit("create_user_tag", tag(), added.stamp)["status"] == COMPLETED


def test_a_policy_that_allows_everything_to_the_user_does_not_either(user: User) -> None:
    """Neither for the user, nor for somebody else, nor for a new user."""
    allow(user, A_PASSKEY)
    mine = f"approvers.any(user, user.id == '{user.key.user_id}')"
    user.root.submitted("create_policy", policy_params(consensus=mine, condition="activity.resource != 'POLICY'"))
    other = user.root.new_user()
    new_user = {"userName": unique("user"), "apiKeys": [], "oauthProviders": [], "userTags": []}

    def attempts() -> list[tuple[str, dict[str, Any]]]:
        return [
            ("create_authenticators", own(user, SoftPasskey())),
            ("create_authenticators", own(user, SoftPasskey()) | {"userId": other.user_id}),
            ("create_users", {"users": [new_user | {"authenticators": [SoftPasskey().params()]}]}),
        ]

    for name, parameters in attempts():
        status, message = refusal(user.send(name, parameters))
        assert (status, "an approval with a credential" in message) == (403, True), message
    owned = user.given_passkey()
    for name, parameters in attempts():
        assert user.submit(name, parameters, owned.stamp)["status"] == COMPLETED


def test_a_session_does_not_become_what_the_key_is_not(user: User) -> None:
    """The consensus counts anything but API keys."""
    allow(user, "credentials.any(c, c.type != 'CREDENTIAL_TYPE_API_KEY_P256')")
    key = generate_api_key().public_key
    assert refusal(user.send("stamp_login", {"publicKey": key}))[0] == 403
    target = {"targetPublicKey": "04" + "11" * 64}
    assert refusal(user.send("create_read_write_session", target))[0] == 403
    owned = user.given_passkey()
    session = user.session_of(owned.stamp)
    assert user.submit("create_user_tag", tag(), session.stamped)["status"] == COMPLETED


def test_what_no_consensus_counts_is_added_as_before(user: User) -> None:
    allow(user, A_PASSKEY)
    key = {"userId": user.key.user_id, "apiKeys": [api_key_params(generate_api_key().public_key)]}
    assert user.submit("create_api_keys", key)["status"] == COMPLETED
    assert user.session_of(user.key.stamped).asked("whoami")["userId"] == user.key.user_id


# What was registered after the submission.


def test_a_passkey_that_is_added_afterwards_never_counts(user: User) -> None:
    """Not even one that the root user adds: the same user submits again."""
    allow(user, A_PASSKEY)
    user.given_passkey()
    activity = user.submit("create_user_tag", tag())
    assert activity["status"] == WAITING
    assert user.approve(activity, user.given_passkey().stamp) == WAITING
    assert user.submit("create_user_tag", tag(), user.passkeys[1].stamp)["status"] == COMPLETED
    assert user.approve(activity, user.passkeys[0].stamp) == COMPLETED


def test_an_activity_waits_for_no_credential_that_its_approvers_did_not_have(user: User) -> None:
    """Somebody whom no consensus counted at the submission has no vote, although a passkey was added since."""
    allow(user, f"approvers.any(u, u.id == '{user.key.user_id}') && {A_PASSKEY}")
    user.given_passkey()
    activity = user.submit("create_user_tag", tag())
    late = User(user.root, user.root.new_user())
    late.given_passkey()
    response = late.send("approve_activity", {"fingerprint": activity["fingerprint"]}, late.passkeys[0].stamp)
    assert refusal(response)[0] == 403
    assert user.approve(activity, user.passkeys[0].stamp) == COMPLETED


def test_a_session_that_began_afterwards_does_not_count(user: User) -> None:
    allow(user, "credentials.count() >= 2")
    passkey = user.given_passkey()
    activity = user.submit("create_user_tag", tag())
    assert user.approve(activity, user.session_of(passkey.stamp).stamped) == WAITING
    assert user.approve(activity, passkey.stamp) == COMPLETED


# A credential and its sessions.


BOTH = f"{A_PASSKEY} && credentials.any(c, c.type == 'CREDENTIAL_TYPE_LOGIN')"
"""It lets only sessions begin sessions, so the first ones begin before the policy."""


def test_a_passkey_and_its_session_count_as_one(user: User) -> None:
    passkey = user.given_passkey()
    of_passkey, of_key = user.session_of(passkey.stamp), user.session_of(user.key.stamped)
    allow(user, BOTH)
    activity = user.submit("create_user_tag", tag(), of_passkey.stamped)
    assert activity["status"] == WAITING
    assert user.approve(activity, passkey.stamp) == WAITING, "the passkey counts in place of its session"
    assert user.approve(activity, of_key.stamped) == COMPLETED


def test_two_sessions_of_one_credential_count_as_one(user: User) -> None:
    one, two = (user.session_of(user.key.stamped) for _ in range(2))
    of_another = user.session_of(user.given_key().stamped)
    of_session = user.session_of(one.stamped)
    allow(user, "credentials.filter(c, c.type == 'CREDENTIAL_TYPE_LOGIN').count() >= 2")
    activity = user.submit("create_user_tag", tag(), one.stamped)
    for again in (two, of_session):
        assert user.approve(activity, again.stamped) == WAITING
    assert user.approve(activity, of_another.stamped) == COMPLETED


def test_a_session_that_somebody_began_for_the_user_counts_with_that_ones_key(user: User) -> None:
    """Ana may begin sessions of others. Her key and such a session are one credential."""
    ana = User(user.root, user.root.new_user())
    policy = f"approvers.any(u, u.id == '{ana.key.user_id}')"
    condition = "activity.kind == 'CREATE_READ_WRITE_SESSION'"
    user.root.submitted("create_policy", policy_params(consensus=policy, condition=condition))
    target = bundles.fresh()
    asked = {"targetPublicKey": bundles.point(target).hex(), "userId": user.key.user_id}
    (result,) = ana.submit("create_read_write_session", asked)["result"].values()
    session = holder_of(user.key, result["credentialBundle"], target)
    allow(user, "credentials.count() >= 2")
    activity = ana.submit("create_user_tag", tag())
    assert user.approve(activity, session.stamped) == WAITING
    assert user.approve(activity, user.key.stamped) == COMPLETED


def steps(*methods: str) -> list[dict[str, Any]]:
    return [{"any": [{"type": f"AUTHENTICATION_TYPE_{method}"}]} for method in methods]


@pytest.mark.parametrize("methods", [("SESSION", "PASSKEY"), ("PASSKEY", "SESSION")])
def test_a_step_of_mfa_counts_no_session_of_a_counted_credential(user: User, methods: tuple[str, str]) -> None:
    allow(user, f"approvers.any(u, u.id == '{user.key.user_id}')")
    passkey = user.given_passkey()
    of_passkey, of_key = user.session_of(passkey.stamp), user.session_of(user.key.stamped)
    policy = mfa_policy_params(user.key.user_id, []) | {
        "condition": "activity.kind == 'CREATE_USER_TAG'",
        "requiredAuthenticationMethods": steps(*methods),
    }
    user.root.submitted("create_mfa_policy", policy)
    activity = user.submit("create_user_tag", tag(), of_passkey.stamped)
    assert activity["status"] == LACKING
    assert user.approve(activity, passkey.stamp) == LACKING
    asked = user.key.asked("get_mfa_status", activityId=activity["id"], userId=user.key.user_id)
    (status,) = asked["mfaStatuses"]
    assert (status["satisfied"], len(status["satisfiedMethods"])) == (False, 1)
    assert user.approve(activity, of_key.stamped) == COMPLETED


def test_a_step_of_mfa_counts_no_credential_that_is_added_afterwards(user: User) -> None:
    allow(user, f"approvers.any(u, u.id == '{user.key.user_id}')")
    policy = mfa_policy_params(user.key.user_id, []) | {
        "condition": "activity.kind == 'CREATE_USER_TAG'",
        "requiredAuthenticationMethods": steps("API_KEY", "PASSKEY"),
    }
    user.root.submitted("create_mfa_policy", policy)
    activity = user.submit("create_user_tag", tag())
    assert user.approve(activity, user.given_passkey().stamp) == LACKING
    again = user.submit("create_user_tag", tag())
    assert user.approve(again, user.passkeys[0].stamp) == COMPLETED
    assert logged_in(user.key).asked("whoami")["userId"] == user.key.user_id
