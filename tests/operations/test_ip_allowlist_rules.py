"""IP allow-lists: how many there may be, and what becomes of the list of a key that is deleted."""

from __future__ import annotations

import pytest

from keystead.api.errors import LimitReached
from keystead.organizations.kinds.ip_allowlists import IpAllowlists
from keystead.organizations.limits import Limits
from tests.support.organization_harness import OrganizationHarness, public_key

RULES = [{"cidr": "192.0.2.0/24"}]


def harness() -> OrganizationHarness:
    return OrganizationHarness("Root", "Ana", "Ben", root=["Root"], limits=Limits(ip_allowlists=2))


def lists(people: OrganizationHarness) -> set[str]:
    return set(people.organization.of(IpAllowlists))


def of_key(name: str) -> dict[str, object]:
    return {"rules": RULES, "publicKey": public_key(name)}


def test_at_most_so_many_lists() -> None:
    people = harness()
    people.submit("Root", "set_ip_allowlist", {"rules": RULES, "enabled": False})
    people.submit("Root", "set_ip_allowlist", of_key("Ana"))
    with pytest.raises(LimitReached, match="IP allow-lists: 2 of 2 are in use, 1 more"):
        people.submit("Root", "set_ip_allowlist", of_key("Ben"))
    people.submit("Root", "set_ip_allowlist", of_key("Ana"))
    people.submit("Root", "remove_ip_allowlist", {})
    people.submit("Root", "set_ip_allowlist", of_key("Ben"))
    assert lists(people) == {public_key("Ana"), public_key("Ben")}


def test_lists_of_deleted_keys_make_room() -> None:
    people = harness()
    for name in ("Ana", "Ben"):
        people.submit("Root", "set_ip_allowlist", of_key(name))
    people.submit("Root", "delete_users", {"userIds": [people.user_ids["Ana"]]})
    people.submit("Root", "set_ip_allowlist", of_key("Root"))
    assert lists(people) == {public_key("Ben"), public_key("Root")}
