"""Users: what may be made of them, changed and deleted, and why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead.api.errors import ServiceError
from keystead.organizations.limits import Limits
from tests.support.approval_flows import new_user
from tests.support.issuers import ISSUER
from tests.support.organization_harness import OrganizationHarness, Person, public_key

LIMITS = Limits(users=6)
NOBODY = "00000000-0000-7000-8000-ffffffffffff"


def harness() -> OrganizationHarness:
    """Root governs; Ana has two tags and a passkey, Ben one tag and an e-mail address."""
    people = OrganizationHarness(
        "Root",
        Person("Ana", tags=("OPS", "SEC"), passkey=True),
        Person("Ben", tags=("OPS",), email="Ben@Example.com"),
        root=["Root"],
        limits=LIMITS,
    )
    people.clock.ms += 1_000
    return people


def ids(people: OrganizationHarness) -> dict[str, str]:
    return {**people.user_ids, **people.tags}


Asked = Callable[[OrganizationHarness], dict[str, Any]]


def users(*members: dict[str, Any]) -> Asked:
    return lambda c: {"users": [new_user(c) | each for each in members]}


def key(label: str = "further", **members: Any) -> dict[str, Any]:
    return {"apiKeyName": label, "publicKey": public_key(label), "curveType": "API_KEY_CURVE_P256"} | members


ANYBODY: dict[str, Any] = {"apiKeys": [], "authenticators": [], "oauthProviders": []}
EMAIL, PHONE = {"userEmail": "x@example.com"}, {"userPhoneNumber": "+1 (415) 555-0123"}

REFUSED: dict[str, tuple[str, Asked, int, str]] = {
    "a user without credential": ("create_users", users(ANYBODY), 400, "user missing valid credential"),
    "a user with an expiring key alone": (
        "create_users",
        users({"apiKeys": [key(expirationSeconds="60")]}),
        400,
        "user missing valid credential",
    ),
    "an e-mail address, whose login is off": (
        "create_users",
        users(ANYBODY | EMAIL),
        400,
        "missing valid credential",
    ),
    "a phone number, whose login is off": ("create_users", users(ANYBODY | PHONE), 400, "missing valid credential"),
    "one bad user among good ones": ("create_users", users({}, ANYBODY, {}), 400, "parameters.users[1]"),
    "a key that somebody has": (
        "create_users",
        users({"apiKeys": [key("Ana")]}),
        400,
        "is already an API key in this organization",
    ),
    "a key twice": ("create_users", users({"apiKeys": [key()]}, {"apiKeys": [key()]}), 400, "already an API key"),
    "an unknown tag": ("create_users", users({"userTags": [NOBODY]}), 404, "unable to find tag"),
    "no e-mail address": ("create_users", users({"userEmail": "nobody"}), 400, "invalid email address"),
    "no phone number": ("create_users", users({"userPhoneNumber": "0123"}), 400, "invalid phone number"),
    "too many users": ("create_users", users({}, {}, {}, {}), 429, "users: 3 of 6 are in use, 4 more"),
    "no user of this id": ("update_user_name", lambda c: {"userId": NOBODY, "userName": "x"}, 404, "find user"),
    "no tag of this id": (
        "update_user",
        lambda c: {"userId": c.user_ids["Ana"], "userTagIds": [NOBODY]},
        404,
        "unable to find tag",
    ),
    "a bad address": (
        "update_user_email",
        lambda c: {"userId": c.user_ids["Ana"], "userEmail": "a@b"},
        400,
        "parameters.userEmail",
    ),
    "a text that is not a verification token": (
        "update_user_email",
        lambda c: {"userId": c.user_ids["Ana"], "userEmail": "", "verificationToken": "x"},
        400,
        "verificationToken",
    ),
    "a member of the root quorum": (
        "delete_users",
        lambda c: {"userIds": [c.user_ids["Ben"], c.user_ids["Root"]]},
        400,
        "quorum users missing",
    ),
    "a user who is gone": ("delete_users", lambda c: {"userIds": [NOBODY]}, 404, "unable to find user"),
}


@pytest.mark.parametrize(("name", "asked", "status", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(name: str, asked: Asked, status: int, why: str) -> None:
    people = harness()
    before = people.organization
    with pytest.raises(ServiceError) as refused:
        people.submit("Root", name, asked(people))
    assert refused.value.http_status == status
    assert why in refused.value.message
    assert people.organization is before
    assert people.activities() == []


def test_users_come_with_all_they_have() -> None:
    people = harness()
    provider = {"providerName": "p", "oidcToken": ISSUER.token(people.clock.ms // 1000, sub="s")}
    made = people.result(
        "Root",
        "create_users",
        users(
            {"userName": "Eve", "userTags": [people.tags["SEC"]] * 2, **EMAIL, **PHONE},
            {"apiKeys": [], "oauthProviders": [provider]},
        )(people),
    )
    eve, other = (people.organization.users[user_id] for user_id in made["userIds"])
    assert (eve.user_name, eve.user_tags) == ("Eve", (people.tags["SEC"],))
    assert (eve.user_email, eve.user_phone_number) == ("x@example.com", "+14155550123")
    assert [one.subject for one in other.oauth_providers] == ["s"]
    assert eve.created_at.epoch_ms == people.clock.ms


@pytest.mark.parametrize("feature", ["EMAIL_AUTH", "OTP_EMAIL_AUTH", "SMS_AUTH"])
def test_a_contact_is_a_credential_while_its_login_is_on(feature: str) -> None:
    people = harness()
    contact = PHONE if feature == "SMS_AUTH" else EMAIL
    named = {"name": f"FEATURE_NAME_{feature}"}
    people.result("Root", "set_organization_feature", named)
    (eve_id,) = people.result("Root", "create_users", users(ANYBODY | contact)(people))["userIds"]
    for name, parameters in (
        ("remove_organization_feature", named),
        ("update_user", {"userId": eve_id, **dict.fromkeys(contact, "")}),
    ):
        with pytest.raises(ServiceError, match="user missing valid credential"):
            people.submit("Root", name, parameters)
    people.result("Root", "create_api_keys", {"userId": eve_id, "apiKeys": [key()]})
    people.result("Root", "remove_organization_feature", named)


CHANGES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "nothing": ("update_user", {}, {}),
    "an empty list of tags changes none": ("update_user", {"userTagIds": []}, {}),
    "tags, each once": ("update_user", {"userTagIds": ["SEC", "SEC"]}, {"user_tags": ("SEC",)}),
    "a name": ("update_user", {"userName": "Bob"}, {"user_name": "Bob"}),
    "a name alone": ("update_user_name", {"userName": "Bob"}, {"user_name": "Bob"}),
    "another's name": ("update_user_name", {"userName": "Ana"}, {"user_name": "Ana"}),
    "an address": ("update_user_email", {"userEmail": "b@example.com"}, {"user_email": "b@example.com"}),
    "no address": ("update_user_email", {"userEmail": ""}, {"user_email": None}),
    "no address, among others": ("update_user", {"userEmail": ""}, {"user_email": None}),
    "a number": ("update_user_phone_number", PHONE, {"user_phone_number": "+14155550123"}),
    "no number": ("update_user_phone_number", {"userPhoneNumber": ""}, {"user_phone_number": None}),
}


@pytest.mark.parametrize(("name", "asked", "changed"), CHANGES.values(), ids=CHANGES.keys())
def test_a_user_changes(name: str, asked: dict[str, Any], changed: dict[str, Any]) -> None:
    people = harness()
    before = people.user("Ben")
    parameters = {"userId": before.user_id, **asked}
    if "userTagIds" in asked:
        parameters["userTagIds"] = [people.tags[tag] for tag in asked["userTagIds"]]
    people.result("Root", name, parameters)
    after = people.user("Ben")
    for field in ("user_name", "user_email", "user_phone_number", "user_tags", "api_keys"):
        expected = changed.get(field, getattr(before, field))
        if field == "user_tags" and field in changed:
            expected = tuple(people.tags[tag] for tag in expected)
        assert getattr(after, field) == expected
    assert (after.created_at, after.updated_at.epoch_ms) == (before.created_at, people.clock.ms)


def test_users_go_with_all_they_had() -> None:
    people = harness()
    gone = [people.user_ids["Ana"], people.user_ids["Ben"], people.user_ids["Ana"]]
    assert people.result("Root", "delete_users", {"userIds": gone}) == {"userIds": gone[:2]}
    organization = people.organization
    assert set(organization.users) == {people.user_ids["Root"]}
    assert set(organization.users.by_public_key) == {public_key("Root")}
    assert not organization.passkeys
    assert not organization.users.authenticators
    assert {one.holder_id for one in people.database.lookups[people.id]} == {"", people.user_ids["Root"]}
    people.result("Root", "create_users", users({"apiKeys": [key("Ana")]})(people))
