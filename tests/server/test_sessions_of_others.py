"""Who begins a session of a sub-organization's user, over HTTP on both databases: each operation that gives one, by
each caller, with a proof of the user and without.

Not here: proofs that were made for somebody else (`test_foreign_logins`), MFA policies (`test_attested_logins`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import httpx
import pytest

from keystead.operations import CATALOGUE
from keystead.pipeline.operation import ActivityOperation, UserProof
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.server.test_auth_proxy import ask, new_proxy
from tests.support import bundles
from tests.support.callers import SDK_FORM, Caller, answered, refusal
from tests.support.codes import Codes, outbox_of
from tests.support.example_codes import code_params
from tests.support.issuers import taking_tokens
from tests.support.organization_fixtures import mfa_policy_params, policy_params
from tests.support.people import Person, new_person, otp_login_params
from tests.support.servers import bootstrap_installation, running

FEATURE = "FEATURE_NAME_PARENT_AUTH"


class Place(NamedTuple):
    """`allowed` and `other`: users of the parent, of whom a policy allows the first everything. `proxy`: the id of
    an authentication proxy. `victim`: the root user of a sub-organization."""

    codes: Codes
    allowed: Caller
    other: Caller
    proxy: str
    victim: Person


@pytest.fixture(scope="module")
def parent(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    installation, folder = bootstrap_installation(make_database(), mode="dev"), tmp_path_factory.mktemp("others")
    with running(installation, folder / "log", taking_tokens(folder)) as server:
        codes = Codes(server, server.caller, outbox_of(server))
        allowed, other = codes.caller.new_user(), codes.caller.new_user()
        consensus = f"approvers.any(user, user.id == '{allowed.user_id}')"
        codes.caller.submitted(
            "create_policy", policy_params(consensus=consensus, condition="activity.kind != 'X'")
        )
        yield Place(codes, allowed, other, new_proxy(codes.caller), new_person(codes))
    installation.database.close()


@pytest.fixture
def place(parent: Place) -> Place:
    return parent._replace(victim=new_person(parent.codes))


def of_parent(pick: Callable[[Place], Caller]) -> Callable[[Place], Caller]:
    """A user of the parent, whose requests name the victim's organization."""
    return lambda place: replace(pick(place), organization_id=place.victim.caller.organization_id)


CALLERS: dict[str, Callable[[Place], Caller]] = {
    "a root user of the parent": of_parent(lambda place: place.codes.caller),
    "a user of the parent whom a policy allows it": of_parent(lambda place: place.allowed),
    "a user of the parent": of_parent(lambda place: place.other),
    "the user": lambda place: place.victim.caller,
    "another user of the sub-organization": lambda place: place.victim.caller.new_user(),
}
ENTITLED = frozenset({"a root user of the parent", "a user of the parent whom a policy allows it", "the user"})
"""Who may begin a session of the user, given the user's proof: whom policies or own rights allow it."""


def target() -> str:
    return bundles.point(bundles.fresh()).hex()


def new_key() -> str:
    return generate_api_key().public_key


def emailed(place: Place) -> dict[str, Any]:
    return {"email": place.victim.email, "targetPublicKey": target(), "emailCustomization": {"appName": "Wallets"}}


def emailed_code(place: Place, caller: Caller) -> dict[str, Any]:
    """The code of an e-mail that the caller asks for, or an invented one if the caller may not ask."""
    response = caller.submit("init_otp_auth", code_params(place.victim.email), SDK_FORM)
    if response.status_code != 200:
        begun, code = place.victim.caller.result("init_otp_auth", code_params(place.victim.email)), "000000"
    else:
        (begun,) = answered(response)["activity"]["result"].values()
        code = place.codes.outbox.code(place.victim.email)
    return {"otpId": begun["otpId"], "otpCode": code, "targetPublicKey": target()}


def otp_login(place: Place, _: Caller) -> dict[str, Any]:
    return otp_login_params(place.victim.verification_token(), new_key())


def oauth_login(place: Place, _: Caller) -> dict[str, Any]:
    key = new_key()
    return {"oidcToken": place.victim.id_token(key), "publicKey": key}


def oauth(place: Place, _: Caller) -> dict[str, Any]:
    key = target()
    return {"oidcToken": place.victim.id_token(key), "targetPublicKey": key}


class Way(NamedTuple):
    """`type`: the activity type. `proof`: what proves the user; None if it is the stamp. `parameters`: with a good
    proof."""

    type: str
    proof: UserProof | None
    parameters: Callable[[Place, Caller], dict[str, Any]]

    @property
    def operation(self) -> ActivityOperation:
        operation = CATALOGUE.of_type(self.type)
        assert isinstance(operation, ActivityOperation)
        return operation


WAYS = [
    Way("ACTIVITY_TYPE_STAMP_LOGIN", None, lambda _, caller: {"publicKey": new_key()}),
    Way("ACTIVITY_TYPE_CREATE_READ_ONLY_SESSION", None, lambda *_: {}),
    Way(
        "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION_V2",
        UserProof.NONE,
        lambda place, _: {"targetPublicKey": target(), "userId": place.victim.caller.user_id},
    ),
    Way(
        "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION",
        UserProof.NONE,
        lambda place, _: {"targetPublicKey": target(), "email": place.victim.email},
    ),
    Way("ACTIVITY_TYPE_OTP_LOGIN_V2", UserProof.CODE, otp_login),
    Way("ACTIVITY_TYPE_OTP_LOGIN", UserProof.CODE, otp_login),
    Way("ACTIVITY_TYPE_OTP_AUTH", UserProof.CODE, emailed_code),
    Way("ACTIVITY_TYPE_OAUTH_LOGIN", UserProof.ID_TOKEN, oauth_login),
    Way("ACTIVITY_TYPE_OAUTH", UserProof.ID_TOKEN, oauth),
    Way("ACTIVITY_TYPE_EMAIL_AUTH_V3", UserProof.MESSAGE, lambda place, _: emailed(place)),
    Way("ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY_V2", UserProof.MESSAGE, lambda place, _: emailed(place)),
]


def test_every_operation_for_users_of_a_parent_says_what_proves_the_user() -> None:
    """`init_otp_auth` sends a code and gives no session, and `create_oauth_providers` gives none."""
    declared = {
        one.name: one.by_parent.proof
        for one in CATALOGUE
        if isinstance(one, ActivityOperation) and one.by_parent is not None
    }
    tried = {way.operation.name: way.proof for way in WAYS if way.proof is not None}
    assert declared == tried | {
        "init_otp_auth": UserProof.MESSAGE,
        "create_oauth_providers": UserProof.ID_TOKEN,
    }


def sessions(place: Place) -> list[str]:
    """The ids of the victim's API keys; a session adds one."""
    victim = place.victim.caller
    return [key["apiKeyId"] for key in victim.asked("get_api_keys", userId=victim.user_id)["apiKeys"]]


def attempt(way: Way, place: Place, caller: Caller) -> httpx.Response:
    return caller.submit(way.operation.name, way.parameters(place, caller), SDK_FORM, type=way.type)


def outcome(name: str, way: Way) -> tuple[int, str]:
    """The status, and words of the refusal."""
    is_of_parent = "of the parent" in name
    if is_of_parent and way.proof is UserProof.NONE:
        return 403, "needs a proof of the user"
    if is_of_parent and way.proof is None:
        return 400, "organization mismatch"
    if name in ENTITLED or way.proof is None:
        return 200, ""
    return 403, "You don't have sufficient permissions"


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.type.removeprefix("ACTIVITY_TYPE_"))
@pytest.mark.parametrize("name", CALLERS)
def test_who_begins_a_session_of_the_user(name: str, way: Way, place: Place) -> None:
    """A user who stamps begins a session of that user alone."""
    caller, before = CALLERS[name](place), sessions(place)
    response = attempt(way, place, caller)
    status, text = outcome(name, way)
    if status != 200:
        assert (refusal(response)[0], text in refusal(response)[1]) == (status, True), response.text
        assert sessions(place) == before
        return
    assert answered(response)["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"
    if way.proof is UserProof.MESSAGE:
        bundle = place.codes.outbox.wait_for(place.victim.email).secret
        assert bundle not in response.text, "what opens the session goes to the mailbox alone"


@pytest.mark.parametrize("way", [way for way in WAYS if way.proof is UserProof.NONE], ids=lambda way: way.type)
@pytest.mark.parametrize("name", [name for name in CALLERS if "of the parent" in name])
def test_the_sub_organization_allows_it_to_its_parent_by_a_feature(name: str, way: Way, place: Place) -> None:
    """The feature is the sub-organization's own: the parent cannot set it, and its own does not count."""
    caller = CALLERS[name](place)
    feature = {"name": FEATURE, "value": ""}
    place.codes.caller.submitted("set_organization_feature", feature)
    assert refusal(caller.submit("set_organization_feature", feature))[0] == 400
    assert refusal(attempt(way, place, caller))[0] == 403
    place.victim.caller.submitted("set_organization_feature", feature)
    response = attempt(way, place, caller)
    assert (response.status_code == 200) == (name in ENTITLED), response.text
    place.victim.caller.submitted("remove_organization_feature", {"name": FEATURE})
    assert refusal(attempt(way, place, caller))[0] == 403


def test_an_authentication_proxy_begins_sessions_with_a_proof_alone(place: Place) -> None:
    key, organization_id = new_key(), place.victim.caller.organization_id
    before = sessions(place)
    unproven = {"verificationToken": "", "publicKey": key, "organizationId": organization_id}
    for endpoint, asked in (
        ("otp_login", unproven),
        ("oauth_login", {"oidcToken": "a.b.c", "publicKey": key, "organizationId": organization_id}),
        ("create_read_write_session", {"targetPublicKey": target(), "userId": place.victim.caller.user_id}),
        ("stamp_login", {"publicKey": key, "organizationId": organization_id}),
    ):
        assert refusal(ask(place.codes.caller, place.proxy, endpoint, **asked))[0] in (400, 401, 403, 404), endpoint
    assert sessions(place) == before
    proven = otp_login_params(place.victim.verification_token(), key, organizationId=organization_id)
    assert ask(place.codes.caller, place.proxy, "otp_login_v2", **proven).status_code == 200
    by_token = oauth_login(place, place.victim.caller)
    assert ask(place.codes.caller, place.proxy, "oauth_login", **by_token).status_code == 200
    assert len(sessions(place)) == len(before) + 2


@pytest.mark.parametrize("by", ["a root user", "a user whom a policy allows it"])
def test_nobody_of_the_organization_passes_the_mfa_policy_of_a_user(by: str, place: Place) -> None:
    """The policy asks for the user's passkey, which neither of the two has."""
    root = place.victim.caller
    helpdesk, user = root.new_user(), root.new_user()
    condition = "activity.kind == 'CREATE_READ_WRITE_SESSION'"
    root.submitted("create_policy", policy_params(consensus=allowed_to(helpdesk), condition=condition))
    caller = root if by == "a root user" else helpdesk
    asked = {"userId": user.user_id, "targetPublicKey": bundles.point(bundles.fresh()).hex()}
    caller.submitted("create_read_write_session", asked)
    policy = mfa_policy_params(user.user_id, [{"type": "AUTHENTICATION_TYPE_PASSKEY"}]) | {"condition": condition}
    root.submitted("create_mfa_policy", policy)
    status, message = refusal(caller.submit("create_read_write_session", asked))
    assert (status, f"an MFA policy of user {user.user_id} applies" in message) == (403, True), message
    own = answered(user.submit("create_read_write_session", asked, SDK_FORM))["activity"]
    assert own["status"] == "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"


def allowed_to(user: Caller) -> str:
    return f"approvers.any(user, user.id == '{user.user_id}')"
