"""Tags and invitations: what may be made, changed and deleted, and what a tag that goes leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead.api.errors import ServiceError
from keystead.organizations.limits import Limits
from tests.support.organization_harness import OrganizationHarness, Person

NOBODY = "00000000-0000-7000-8000-ffffffffffff"
Asked = Callable[[OrganizationHarness], dict[str, Any]]


def harness() -> OrganizationHarness:
    """Root governs; Ana has two tags, Ben one of them; there is room for one more."""
    people = OrganizationHarness(
        "Root",
        Person("Ana", tags=("OPS", "SEC")),
        Person("Ben", tags=("OPS",)),
        root=["Root"],
        limits=Limits(tags=3, invitations=2),
    )
    people.clock.ms += 1_000
    return people


def invitation(c: OrganizationHarness, **members: Any) -> dict[str, Any]:
    return {
        "receiverUserName": "Eve",
        "receiverUserEmail": "eve@example.com",
        "receiverUserTags": [c.tags["OPS"]],
        "accessType": "ACCESS_TYPE_ALL",
        "senderUserId": c.user_ids["Ana"],
    } | members


REFUSED: dict[str, tuple[str, Asked, int, str]] = {
    "the name of another tag": (
        "create_user_tag",
        lambda c: {"userTagName": "OPS", "userIds": []},
        400,
        "label must be unique",
    ),
    "a tag for nobody": ("create_user_tag", lambda c: {"userTagName": "x", "userIds": [NOBODY]}, 404, "find user"),
    "the name of another tag, later": (
        "update_user_tag",
        lambda c: {"userTagId": c.tags["OPS"], "newUserTagName": "SEC", "addUserIds": [], "removeUserIds": []},
        400,
        "label must be unique",
    ),
    "put on and taken off at once": (
        "update_user_tag",
        lambda c: {
            "userTagId": c.tags["OPS"],
            "addUserIds": [c.user_ids["Ana"]],
            "removeUserIds": [c.user_ids["Ana"]],
        },
        400,
        "in both",
    ),
    "no such tag": (
        "update_user_tag",
        lambda c: {"userTagId": NOBODY, "addUserIds": [], "removeUserIds": []},
        404,
        "unable to find user tag",
    ),
    "one unknown tag": (
        "delete_user_tags",
        lambda c: {"userTagIds": [c.tags["OPS"], NOBODY]},
        404,
        "unable to find user tag",
    ),
    "an invitation by nobody": (
        "create_invitations",
        lambda c: {"invitations": [invitation(c, senderUserId=NOBODY)]},
        404,
        "find user",
    ),
    "an invitation with an unknown tag": (
        "create_invitations",
        lambda c: {"invitations": [invitation(c, receiverUserTags=[NOBODY])]},
        404,
        "parameters.invitations[0].receiverUserTags",
    ),
    "an invitation to no address": (
        "create_invitations",
        lambda c: {"invitations": [invitation(c, receiverUserEmail="eve")]},
        400,
        "receiverUserEmail",
    ),
    "too many invitations": (
        "create_invitations",
        lambda c: {"invitations": [invitation(c)] * 3},
        429,
        "invitations: 0 of 2 are in use, 3 more",
    ),
    "no such invitation": ("delete_invitation", lambda c: {"invitationId": NOBODY}, 404, "find invitation"),
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


def test_tags() -> None:
    people = harness()
    ana, ben = people.user_ids["Ana"], people.user_ids["Ben"]
    made = people.result("Root", "create_user_tag", {"userTagName": "x", "userIds": [ana, ben, ana]})
    tag = made["userTagId"]
    assert made["userIds"] == [ana, ben]
    with pytest.raises(ServiceError, match="tags: 3 of 3 are in use"):
        people.submit("Root", "create_user_tag", {"userTagName": "y", "userIds": []})
    people.result(
        "Root",
        "update_user_tag",
        {
            "userTagId": tag,
            "newUserTagName": "z",
            "addUserIds": [people.user_ids["Root"], ana],
            "removeUserIds": [ben],
        },
    )
    assert people.organization.tags[tag].tag_name == "z"
    assert [tag in people.user(name).user_tags for name in ("Root", "Ana", "Ben")] == [True, True, False]
    assert people.user("Ana").user_tags.count(tag) == 1
    same_name = {"userTagId": tag, "newUserTagName": "z", "addUserIds": [], "removeUserIds": []}
    people.result("Root", "update_user_tag", same_name)
    gone = people.result("Root", "delete_user_tags", {"userTagIds": [tag, people.tags["SEC"], tag]})
    assert gone == {"userTagIds": [tag, people.tags["SEC"]], "userIds": sorted([people.user_ids["Root"], ana])}
    assert set(people.organization.tags) == {people.tags["OPS"]}
    assert people.user("Ana").user_tags == (people.tags["OPS"],)


def test_a_tag_that_a_policy_names_may_go_and_the_policy_then_counts_nobody() -> None:
    people = harness()
    people.policy(consensus=f"approvers.any(u, u.tags.contains('{people.tags['SEC']}'))", condition="true")
    people.result("Ana", "create_wallet", {"walletName": "1", "accounts": []})
    people.result("Root", "delete_user_tags", {"userTagIds": [people.tags["SEC"]]})
    with pytest.raises(ServiceError) as denied:
        people.submit("Ana", "create_wallet", {"walletName": "2", "accounts": []})
    assert denied.value.http_status == 403
    people.result("Root", "create_wallet", {"walletName": "2", "accounts": []})


def test_invitations() -> None:
    people = harness()
    other = invitation(people, receiverUserEmail="eva@example.com")
    made = people.result("Root", "create_invitations", {"invitations": [invitation(people), other]})
    assert len(made["invitationIds"]) == 2
    assert set(people.organization.invitations) == set(made["invitationIds"])
    gone = {"invitationId": made["invitationIds"][0]}
    assert people.result("Root", "delete_invitation", gone) == gone
    assert set(people.organization.invitations) == {made["invitationIds"][1]}
    with pytest.raises(ServiceError, match="unable to find invitation"):
        people.submit("Root", "delete_invitation", gone)
