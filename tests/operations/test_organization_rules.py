"""What the root quorum alone changes: the organization's name, its features, the quorum itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import ServiceError
from keystead.organizations.kinds.profile import RootQuorum
from keystead.organizations.limits import Limits
from tests.support.approval_flows import new_user
from tests.support.organization_harness import OrganizationHarness, Person

NOBODY = "00000000-0000-7000-8000-ffffffffffff"
Asked = Callable[[OrganizationHarness], dict[str, Any]]


def harness() -> OrganizationHarness:
    return OrganizationHarness("Root", "Ana", "Ben", root=["Root"], limits=Limits(users=4))


def quorum(threshold: int, *names: str) -> Asked:
    return lambda c: {"threshold": threshold, "userIds": [c.user_ids.get(name, NOBODY) for name in names]}


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
    "a text that is not an origin": (
        "set_organization_feature",
        lambda c: {"name": "FEATURE_NAME_WEBAUTHN_ORIGINS", "value": "https://a.example, b.example"},
        400,
        "'b.example' is not an origin",
    ),
    "a host that only looks like localhost": (
        "set_organization_feature",
        lambda c: {"name": "FEATURE_NAME_WEBAUTHN_ORIGINS", "value": "http://localhost.evil.example"},
        400,
        "is not an origin",
    ),
    "no name": ("update_organization_name", lambda c: {"organizationName": ""}, 400, "organizationName"),
    "not below": (
        "delete_sub_organization",
        lambda c: {"deleteWithoutExport": True},
        400,
        "not a sub-organization",
    ),
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
    assert list(people.database.organizations) == [people.id]
    assert people.activities() == []


def test_the_current_quorum_approves_the_next() -> None:
    people = harness()
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
    people = harness()
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
    people = harness()
    made = people.result("Root", "update_organization_name", {"organizationName": "Other"})
    assert made == {"organizationId": people.id, "organizationName": "Other"}
    assert {one.value for one in people.database.lookups[people.id] if not one.holder_id} == {"Other"}


def test_a_member_of_the_quorum_who_only_has_a_contact() -> None:
    people = OrganizationHarness("Root", Person("Ana"), root=["Root"])
    people.result("Root", "set_organization_feature", {"name": "FEATURE_NAME_EMAIL_AUTH"})
    user = new_user(people) | {"apiKeys": [], "userEmail": "eve@example.com"}
    (eve,) = people.result("Root", "create_users", {"users": [user]})["userIds"]
    people.result("Root", "update_root_quorum", {"threshold": 1, "userIds": [people.user_ids["Root"], eve]})
    with pytest.raises(ServiceError, match="user missing valid credential"):
        people.submit("Root", "remove_organization_feature", {"name": "FEATURE_NAME_EMAIL_AUTH"})
