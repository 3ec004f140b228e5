"""Limits in bytes, and activities that change many records: refused as a whole, not piled up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import LimitReached
from keystead.organizations.limits import Limits
from keystead.pipeline import changes, organization_writer
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import Commit
from tests.support.organization_harness import OrganizationHarness, Person

NAMES = [f"Person {number}" for number in range(21)]

Parameters = Callable[[OrganizationHarness], dict[str, Any]]


def harness(threshold: int = 1, **limits: int) -> OrganizationHarness:
    """Ana has the tags OPS and SEC."""
    ana = Person("Ana", tags=("OPS", "SEC"))
    return OrganizationHarness(
        ana, "Ben", *NAMES, root=["Ana", "Ben"], threshold=threshold, limits=Limits(**limits)
    )


def mfa_policy(c: OrganizationHarness) -> dict[str, Any]:
    return {
        "userId": c.user_ids["Ben"],
        "mfaPolicyName": "Policy",
        "condition": "false",
        "requiredAuthenticationMethods": [{"any": [{"type": "AUTHENTICATION_TYPE_PASSKEY"}] * 20}] * 20,
        "order": 1,
    }


def tag_of(names: Iterable[str], name: str = "x") -> Parameters:
    return lambda c: {"userTagName": name, "userIds": [c.user_ids[name] for name in names]}


REFUSED: dict[str, tuple[dict[str, int], str, Parameters, str]] = {
    "an organization that is full": (
        {"organization_bytes": 100},
        "create_user_tag",
        tag_of([]),
        "bytes of records",
    ),
    "a user with many methods of authentication": (
        {"user_bytes": 10_000},
        "create_mfa_policy",
        mfa_policy,
        "bytes of one user",
    ),
    "a tag for a user who is too large already": (
        {"user_bytes": 100},
        "create_user_tag",
        tag_of(["Ben"]),
        "bytes of one user",
    ),
    "a tag for more users than one activity changes": (
        {"changed_bytes": 5_000},
        "create_user_tag",
        tag_of(NAMES),
        "bytes of records that one activity changes",
    ),
    "a tag that is taken from them": (
        {"changed_bytes": 500},
        "delete_user_tags",
        lambda c: {"userTagIds": [c.tags["OPS"]]},
        "bytes of records that one activity changes",
    ),
}


@pytest.mark.parametrize(("limits", "name", "parameters", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(limits: dict[str, int], name: str, parameters: Parameters, why: str) -> None:
    people = harness(**limits)
    before = people.organization
    with pytest.raises(LimitReached, match=why):
        people.submit("Ana", name, parameters(people))
    assert people.organization is before
    assert people.activities() == []


@pytest.mark.parametrize(("limits", "name", "parameters", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_after_an_approval(limits: dict[str, int], name: str, parameters: Parameters, why: str) -> None:
    people = harness(threshold=2, **limits)
    before = people.organization
    failed = people.approve("Ben", people.submit("Ana", name, parameters(people)))
    assert failed.status is ActivityStatus.FAILED
    assert failed.failure is not None
    assert why in failed.failure.message
    assert people.organization is before


SMALLER: dict[str, tuple[dict[str, int], str, Parameters]] = {
    "an organization that is full": (
        {"organization_bytes": 100},
        "delete_users",
        lambda c: {"userIds": [c.user_ids[NAMES[0]]]},
    ),
    "a user who is too large": (
        {"user_bytes": 100},
        "delete_user_tags",
        lambda c: {"userTagIds": [c.tags["OPS"]]},
    ),
    "a tag of many users, which some of them lose first": (
        {"changed_bytes": 5_000},
        "create_user_tag",
        tag_of(NAMES[:3]),
    ),
}


@pytest.mark.parametrize(("limits", "name", "parameters"), SMALLER.values(), ids=SMALLER.keys())
def test_accepted(limits: dict[str, int], name: str, parameters: Parameters) -> None:
    people = harness(**limits)
    assert people.submit("Ana", name, parameters(people)).status is ActivityStatus.COMPLETED


@pytest.mark.parametrize(("rows", "fits"), [(7, True), (6, False)])
def test_too_many_rows(rows: int, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user is deleted with the registrations of credentials and an account contact. There are look-ups of the API
    key, the name, and two of the contact."""
    people = harness()
    people.submit("Ana", "update_user_email", {"userId": people.user_ids[NAMES[0]], "userEmail": "a@example.com"})
    monkeypatch.setattr(changes, "CHANGED_ROWS_MAX", rows)
    before, parameters = people.organization, {"userIds": [people.user_ids[NAMES[0]]]}
    if fits:
        assert people.submit("Ana", "delete_users", parameters).status is ActivityStatus.COMPLETED
        return
    with pytest.raises(
        LimitReached,
        match=f"changes 7 records, credentials, contacts and names, and one activity may change {rows}",
    ):
        people.submit("Ana", "delete_users", parameters)
    assert people.organization is before


def test_large_commits_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch ends with the commit that reaches the limit."""
    monkeypatch.setattr(organization_writer, "CHANGES_MAX", 8)
    people = harness()
    store, most, waiting = people.stores[0], 0, list[int]()
    hand_in = store.commit

    def counted(commit: Commit) -> Any:
        nonlocal most
        assert commit.changes is not None
        size = len(commit.changes.records)
        committing = hand_in(commit)
        waiting.append(size)
        committing.add_done_callback(lambda _: waiting.remove(size))
        most = max(most, sum(waiting))
        return committing

    monkeypatch.setattr(store, "commit", counted)
    # A commit takes longer than the decisions about all of them.
    monkeypatch.setattr(store, "_turns", lambda: 200)

    bodies = [people.body("create_user_tag", tag_of(NAMES[:3], f"tag {number}")(people)) for number in range(12)]

    async def run() -> list[RecordedActivity]:
        caller = people.caller("Ana")
        return await asyncio.gather(*(people.sending(caller, "create_user_tag", body) for body in bodies))

    made = people.run(run())
    assert {activity.status for activity in made} == {ActivityStatus.COMPLETED}
    assert most == 8
