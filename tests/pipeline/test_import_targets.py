"""Import targets over time: how long they are open, how many there may be, and what deletes them."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest, PermissionDenied
from keystead.organizations.import_targets import LIFETIME_MS, OPEN_TARGETS, open_targets
from keystead.organizations.kinds.import_targets import ImportKind
from keystead.pipeline.activity import RecordedActivity
from tests.support import bundles
from tests.support.organization_harness import OrganizationHarness

BUNDLE = bundles.message(b"whatever", bundles.point(bundles.fresh()))


def harness(**rules: Any) -> OrganizationHarness:
    return OrganizationHarness("Root", "Ana", "Ben", root=["Root"], **rules)


def begin(people: OrganizationHarness, who: str = "Root", kind: str = "wallet") -> RecordedActivity:
    return people.submit(who, f"init_import_{kind}", {"userId": people.user_ids[who]})


def params(people: OrganizationHarness, who: str = "Root") -> dict[str, Any]:
    return {
        "userId": people.user_ids[who],
        "walletName": f"wallet {people.ids.next}",
        "encryptedBundle": BUNDLE,
        "accounts": [],
    }


def import_(people: OrganizationHarness, who: str = "Root") -> RecordedActivity:
    return people.submit(who, "import_wallet", params(people, who))


def left(people: OrganizationHarness, who: str = "Root", kind: ImportKind = ImportKind.WALLET) -> int:
    return len(open_targets(people.organization, people.user_ids[who], kind, people.clock.ms))


def test_a_target_is_deleted_with_its_import() -> None:
    people = harness()
    begin(people)
    begin(people)
    import_(people)
    assert left(people) == 1
    assert len(people.organization.import_targets) == 1
    import_(people)
    with pytest.raises(InvalidRequest, match="failed to decrypt bundle"):
        import_(people)
    assert len(people.organization.wallets) == 2


@pytest.mark.parametrize(("later_ms", "is_open"), [(LIFETIME_MS - 10, True), (LIFETIME_MS, False)])
def test_a_target_is_open_for_an_hour(later_ms: int, is_open: bool) -> None:
    people = harness()
    begin(people)
    people.clock.ms += later_ms
    assert left(people) == int(is_open)
    if is_open:
        import_(people)
    else:
        with pytest.raises(InvalidRequest):
            import_(people)


def test_expired_targets_are_deleted_with_the_next_target() -> None:
    people = harness()
    people.policy(name="imports", consensus="approvers.count() >= 1", condition="activity.action == 'IMPORT'")
    begin(people)
    begin(people, kind="private_key")
    people.clock.ms += LIFETIME_MS
    begin(people, "Ana")
    assert [one.user_id for one in people.organization.import_targets.values()] == [people.user_ids["Ana"]]


def test_the_oldest_target_is_deleted_for_a_new_one() -> None:
    people = harness()
    begin(people, kind="private_key")
    for _ in range(OPEN_TARGETS[ImportKind.WALLET]):
        begin(people)
    first = min(id_ for id_, one in people.organization.import_targets.items() if one.kind is ImportKind.WALLET)
    begin(people)
    assert first not in people.organization.import_targets
    assert left(people) == OPEN_TARGETS[ImportKind.WALLET]
    assert left(people, kind=ImportKind.PRIVATE_KEY) == 1


def test_a_refused_import_leaves_the_target() -> None:
    people = harness()
    begin(people)
    people.submit("Root", "create_wallet", {"walletName": "taken", "accounts": []})
    with pytest.raises(InvalidRequest, match="label must be unique"):
        people.submit("Root", "import_wallet", params(people) | {"walletName": "taken"})
    assert left(people) == 1


def test_an_import_that_waits_uses_the_target_when_it_is_executed() -> None:
    people = harness()
    people.policy(name="imports", consensus="approvers.count() >= 2", condition="activity.kind == 'IMPORT_WALLET'")
    people.policy(
        name="init", consensus="approvers.count() >= 1", condition="activity.kind == 'INIT_IMPORT_WALLET'"
    )
    begin(people, "Ana")
    early, late = import_(people, "Ana"), import_(people, "Ana")
    assert left(people, "Ana") == 1
    assert people.approve("Ben", early).status is ActivityStatus.COMPLETED
    failed = people.approve("Ben", late)
    assert failed.status is ActivityStatus.FAILED
    assert failed.failure is not None
    assert "failed to decrypt bundle" in failed.failure.message
    assert len(people.organization.wallets) == 1


def test_importing_needs_a_policy() -> None:
    people = harness()
    with pytest.raises(PermissionDenied, match="permission"):
        begin(people, "Ana")
    with pytest.raises(PermissionDenied, match="permission"):
        import_(people, "Ana")


def test_an_import_target_is_of_one_user_only() -> None:
    """Refused before any policy is read, so that it waits for nobody; it leaves no record."""
    people = harness()
    people.policy(name="imports", consensus="approvers.count() >= 1", condition="activity.action == 'IMPORT'")
    for who in ("Root", "Ana"):
        with pytest.raises(PermissionDenied, match="userId"):
            people.submit(who, "init_import_wallet", {"userId": people.user_ids["Ben"]})
        with pytest.raises(PermissionDenied, match="userId"):
            people.submit(who, "import_wallet", params(people, "Ben"))
    assert not people.organization.import_targets
