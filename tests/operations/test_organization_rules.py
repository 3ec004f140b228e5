"""What the root quorum alone changes, and sub-organizations from their founding to their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead.activities.store import Page
from keystead.api.enums import ActivityStatus
from keystead.api.errors import ServiceError
from keystead.operations.organizations import ListSuborgsRequest, list_suborgs
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization, RootQuorum
from tests.activities.company import Company, Person, public_key
from tests.activities.flows import new_user
from tests.examples import ETHEREUM_ACCOUNT
from tests.passkeys import SoftPasskey

NOBODY = "00000000-0000-7000-8000-ffffffffffff"
Asked = Callable[[Company], dict[str, Any]]


def company() -> Company:
    return Company("Root", "Ana", "Ben", root=["Root"], limits=Limits(users=4))


def quorum(threshold: int, *names: str) -> Asked:
    return lambda c: {"threshold": threshold, "userIds": [c.user_ids.get(name, NOBODY) for name in names]}


def root_user(people: Company, **members: Any) -> dict[str, Any]:
    return {name: value for name, value in new_user(people).items() if name != "userTags"} | members


def sub(people: Company, *root_users: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "subOrganizationName": "below",
        "rootQuorumThreshold": 1,
        "rootUsers": list(root_users) or [root_user(people)],
    } | members


REFUSED: dict[str, tuple[str, Asked, int, str]] = {
    "a quorum of nobody": ("update_root_quorum", quorum(1), 400, "quorum threshold must be non-zero integer"),
    "a threshold of none": (
        "update_root_quorum",
        quorum(0, "Root"),
        400,
        "quorum threshold must be non-zero integer",
    ),
    "a negative threshold": ("update_root_quorum", quorum(-1, "Root"), 400, "non-zero integer"),
    "more than there are": ("update_root_quorum", quorum(3, "Root", "Ana"), 400, "expected 1 to 2"),
    "one who is counted twice": ("update_root_quorum", quorum(2, "Ana", "Ana"), 400, "expected 1 to 1"),
    "nobody we know": ("update_root_quorum", quorum(1, "Root", "Eve"), 400, "quorum users missing"),
    "a feature that is off": (
        "remove_organization_feature",
        lambda c: {"name": "FEATURE_NAME_WEBHOOK"},
        404,
        "is not set",
    ),
    "a feature there is not": ("set_organization_feature", lambda c: {"name": "FEATURE_NAME_X"}, 400, "name"),
    "an origin that is none": (
        "set_organization_feature",
        lambda c: {"name": "FEATURE_NAME_WEBAUTHN_ORIGINS", "value": "https://a.example, b.example"},
        400,
        "'b.example' is no origin",
    ),
    "a localhost that is none": (
        "set_organization_feature",
        lambda c: {"name": "FEATURE_NAME_WEBAUTHN_ORIGINS", "value": "http://localhost.evil.example"},
        400,
        "is no origin",
    ),
    "no name": ("update_organization_name", lambda c: {"organizationName": ""}, 400, "organizationName"),
    "nobody at the root": (
        "create_sub_organization",
        lambda c: sub(c) | {"rootUsers": []},
        400,
        "quorum threshold must be non-zero integer",
    ),
    "no threshold": ("create_sub_organization", lambda c: sub(c, rootQuorumThreshold=0), 400, "non-zero integer"),
    "a threshold too high": ("create_sub_organization", lambda c: sub(c, rootQuorumThreshold=2), 400, "rootQuorum"),
    "a root user who cannot get in": (
        "create_sub_organization",
        lambda c: sub(c, root_user(c, apiKeys=[])),
        400,
        "parameters.rootUsers[0]",
    ),
    "a root user whose only login is off": (
        "create_sub_organization",
        lambda c: sub(
            c,
            root_user(c, apiKeys=[], userEmail="a@example.com"),
            disableEmailAuth=True,
            disableOtpEmailAuth=True,
        ),
        400,
        "user missing valid credential",
    ),
    "two root users with one key": (
        "create_sub_organization",
        lambda c: sub(c, *[root_user(c, apiKeys=[_key("same")])] * 2),
        400,
        "already an API key",
    ),
    "too many root users": (
        "create_sub_organization",
        lambda c: sub(c, *[root_user(c) for _ in range(5)]),
        429,
        "users: 0 of 4",
    ),
    "a wallet that cannot be": (
        "create_sub_organization",
        lambda c: sub(c, wallet={"walletName": "w", "accounts": [ETHEREUM_ACCOUNT, ETHEREUM_ACCOUNT]}),
        400,
        "accounts[1].path",
    ),
    "not below": ("delete_sub_organization", lambda c: {"deleteWithoutExport": True}, 400, "no sub-organization"),
}


def _key(label: str) -> dict[str, str]:
    return {"apiKeyName": label, "publicKey": public_key(label), "curveType": "API_KEY_CURVE_P256"}


@pytest.mark.parametrize(("name", "asked", "status", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(name: str, asked: Asked, status: int, why: str) -> None:
    people = company()
    before = people.organization
    with pytest.raises(ServiceError) as refused:
        people.submit("Root", name, asked(people))
    assert refused.value.http_status == status
    assert why in refused.value.message
    assert people.organization is before
    assert list(people.database.organizations) == [people.id]
    assert people.activities() == []


def test_the_current_quorum_approves_the_next() -> None:
    people = company()
    people.result("Root", "update_root_quorum", quorum(2, "Ana", "Ben", "Ana")(people))
    members = (people.user_ids["Ana"], people.user_ids["Ben"])
    assert people.organization.profile.root_quorum == RootQuorum(2, members)
    with pytest.raises(ServiceError) as denied:
        people.submit("Root", "update_root_quorum", quorum(1, "Root")(people))
    assert denied.value.http_status == 403
    change = people.submit("Ana", "update_root_quorum", quorum(1, "Root")(people))
    assert change.status is ActivityStatus.CONSENSUS_NEEDED
    assert people.approve("Ben", change).status is ActivityStatus.COMPLETED
    people.result("Root", "delete_users", {"userIds": list(members)})


def test_features() -> None:
    people = company()
    on = people.result("Root", "set_organization_feature", {"name": "FEATURE_NAME_WEBHOOK", "value": "https://a"})
    assert on == {"features": [{"name": "FEATURE_NAME_WEBHOOK", "value": "https://a"}]}
    people.result("Root", "set_organization_feature", {"name": "FEATURE_NAME_SMS_AUTH"})
    again = people.result("Root", "set_organization_feature", {"name": "FEATURE_NAME_WEBHOOK", "value": ""})
    assert [one["name"] for one in again["features"]] == ["FEATURE_NAME_WEBHOOK", "FEATURE_NAME_SMS_AUTH"]
    off = people.result("Root", "remove_organization_feature", {"name": "FEATURE_NAME_WEBHOOK"})
    assert off == {"features": [{"name": "FEATURE_NAME_SMS_AUTH", "value": ""}]}
    origins = "https://a.example, http://localhost:3000"
    people.result("Root", "set_organization_feature", {"name": "FEATURE_NAME_WEBAUTHN_ORIGINS", "value": origins})


def test_the_name() -> None:
    people = company()
    made = people.result("Root", "update_organization_name", {"organizationName": "Other"})
    assert made == {"organizationId": people.id, "organizationName": "Other"}
    assert {one.value for one in people.database.lookups[people.id] if not one.holder_id} == {"Other"}


def child(people: Company) -> Organization:
    (found,) = [one for one in people.database.organizations.values() if one.profile.parent_id == people.id]
    return found


def test_a_sub_organization_is_founded() -> None:
    people = company()
    made = people.result(
        "Root",
        "create_sub_organization",
        sub(
            people,
            root_user(people, userName="Una", apiKeys=[_key("Ana")], userEmail="Una@Example.com"),
            root_user(people, authenticators=[SoftPasskey().params()]),
            rootQuorumThreshold=2,
            disableSmsAuth=True,
            wallet={"walletName": "w", "accounts": [ETHEREUM_ACCOUNT]},
        ),
    )
    below = child(people)
    assert made["subOrganizationId"] == below.id
    assert below.profile.root_quorum == RootQuorum(2, tuple(made["rootUserIds"]))
    assert [below.users[id_].user_name for id_ in made["rootUserIds"]][0] == "Una"
    assert set(below.profile.features) == {
        f"FEATURE_NAME_{n}" for n in ("EMAIL_RECOVERY", "EMAIL_AUTH", "OTP_EMAIL_AUTH")
    }
    assert list(below.wallets) == [made["wallet"]["walletId"]]
    assert [one.account.address for one in people.database.accounts[below.id]] == made["wallet"]["addresses"]
    assert len(below.passkeys) == 1
    assert below.data_key.sealed.ciphertext == below.id.encode()
    assert people.organization is people.founding, "the parent is as it was"


def founded(people: Company, label: str, name: str = "below") -> str:
    params = root_user(people, userName=f"user of {label}", apiKeys=[_key(label)], userEmail=f"{label}@Example.com")
    made: str = people.result("Root", "create_sub_organization", sub(people, params, subOrganizationName=name))[
        "subOrganizationId"
    ]
    return made


FOUND_BY = {
    "nothing": (None, None, "ab"),
    "the name": ("NAME", "below", "ab"),
    "part of the name": ("NAME", "bel", ""),
    "a user's name": ("USERNAME", "user of b", "b"),
    "an address in other letters": ("EMAIL", "A@EXAMPLE.COM", "a"),
    "a key": ("PUBLIC_KEY", public_key("b"), "b"),
    "a key in other letters": ("PUBLIC_KEY", public_key("b").upper(), "b"),
    "a key of the parent": ("PUBLIC_KEY", public_key("Ana"), ""),
    "a number nobody has": ("PHONE_NUMBER", "+14155550123", ""),
    "an address nobody has": ("WALLET_ACCOUNT_ADDRESS", "0x", ""),
}


def listed(people: Company, kind: str | None, value: str | None) -> list[str]:
    request = ListSuborgsRequest(organization_id=people.id, filter_type=kind, filter_value=value)
    return list(people.run(list_suborgs(people.reading("Ana"), request)).organization_ids)


@pytest.mark.parametrize(("kind", "value", "expected"), FOUND_BY.values(), ids=FOUND_BY.keys())
def test_found_by(kind: str | None, value: str | None, expected: str) -> None:
    people = company()
    ids = {label: founded(people, label) for label in "ab"}
    assert listed(people, kind, value) == [ids[label] for label in expected]


def test_it_is_found_by_what_it_has_now() -> None:
    people = company()
    below = founded(people, "a")
    people.user_ids["a"] = next(iter(child(people).users))
    caller = people.caller("a", organization_id=below)
    for name, parameters in (
        ("update_organization_name", {"organizationName": "renamed"}),
        ("update_user_email", {"userId": people.user_ids["a"], "userEmail": "new@example.com"}),
        ("create_api_keys", {"userId": people.user_ids["a"], "apiKeys": [_key("later")]}),
    ):
        people.run(people.sending(caller, name, people.body(name, parameters, organizationId=below)))
    for kind, old, new in (
        ("NAME", "below", "renamed"),
        ("EMAIL", "a@example.com", "NEW@example.com"),
        ("PUBLIC_KEY", public_key("nobody"), public_key("later")),
    ):
        assert (listed(people, kind, old), listed(people, kind, new)) == ([], [below])


@pytest.mark.parametrize("exported", [None, False, True])
def test_a_sub_organization_ends(exported: bool | None) -> None:
    people = company()
    made = people.result(
        "Root",
        "create_sub_organization",
        sub(
            people,
            root_user(people, apiKeys=[_key("a")]),
            wallet={"walletName": "w", "accounts": [ETHEREUM_ACCOUNT]},
        ),
    )
    below = made["subOrganizationId"]
    people.user_ids["a"] = made["rootUserIds"][0]
    with pytest.raises(ServiceError, match="could not find public key"):
        people.submit("Root", "delete_sub_organization", {}, organizationId=below)
    asked = {} if exported is None else {"deleteWithoutExport": exported}
    if not exported:
        with pytest.raises(ServiceError, match="has not been exported"):
            people.submit("a", "delete_sub_organization", asked, organizationId=below)
        return
    result = people.result("a", "delete_sub_organization", asked, organizationId=below)
    assert result == {"subOrganizationUuid": below}
    gone = child(people)
    assert gone.profile.deleted
    assert (dict(gone.users), dict(gone.wallets), dict(gone.api_key_holders)) == ({}, {}, {})
    assert gone.data_key.sealed.ciphertext == b""
    assert not people.database.lookups[below]
    assert not people.database.secrets[below]
    assert people.run(people.stores[0].suborganizations(people.id, None, Page(10))) == []
    assert listed(people, "PUBLIC_KEY", public_key("a")) == []


def test_there_is_nothing_below_a_sub_organization() -> None:
    people = company()
    below = founded(people, "a")
    with pytest.raises(ServiceError, match="not callable by sub-organizations"):
        people.submit("a", "create_sub_organization", sub(people), organizationId=below)


def test_a_member_of_the_quorum_who_only_has_a_contact() -> None:
    people = Company("Root", Person("Ana"), root=["Root"])
    people.result("Root", "set_organization_feature", {"name": "FEATURE_NAME_EMAIL_AUTH"})
    user = new_user(people) | {"apiKeys": [], "userEmail": "eve@example.com"}
    (eve,) = people.result("Root", "create_users", {"users": [user]})["userIds"]
    people.result("Root", "update_root_quorum", {"threshold": 1, "userIds": [people.user_ids["Root"], eve]})
    with pytest.raises(ServiceError, match="user missing valid credential"):
        people.submit("Root", "remove_organization_feature", {"name": "FEATURE_NAME_EMAIL_AUTH"})
