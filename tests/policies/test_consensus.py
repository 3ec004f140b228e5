"""Whose approval a consensus counts, and whether it could be met."""

from __future__ import annotations

import pytest

from keystead.policies.authorize import Authorizer, Verdict, authorize
from tests.support.policy_fixtures import ANA, BEN, CY, allow, request, user, voters

HOUSE = {each.user_id: each for each in (ANA, BEN, CY, user("R"))}


@pytest.mark.parametrize(
    ("consensus", "counted"),
    [
        ("approvers.any(u, u.id == 'A') && approvers.count() >= 2", "ABCR"),
        ("approvers.count() >= 2", "ABCR"),
        ("approvers.count >= 2", "ABCR"),
        ("2 <= credentials.count()", "ABCR"),
        ("approvers.count() >= 5", ""),
        ("approvers[0].id == 'A' || approvers.count() >= 3", "ABCR"),
        ("approvers.any(u, u.id == 'A') && approvers.any(u, u.id == 'B')", "AB"),
        ("approvers.any(u, u.id == 'A') && approvers.any(u, u.id == 'gone')", ""),
        ("approvers.any(u, u.email == 'a@b.c')", ""),
        ("approvers.any(u, u.alias == 'name of C')", "C"),
        ("approvers.filter(u, u.tags.contains('OPS')).count() >= 2", "AB"),
        ("approvers.filter(u, u.tags.contains('OPS')).count() >= 3", ""),
        ("approvers.filter(u, u.tags.contains('OPS')).filter(u, u.id != 'A').count() >= 1", "B"),
        ("approvers.filter(u, u.tags.contains('OPS')).any(v, v.tags.contains('SEC'))", "B"),
        ("approvers[0..1].any(u, u.tags.contains('OPS'))", "AB"),
        # fails until two have approved, and what fails contributes nothing
        ("approvers[0..2].any(u, u.tags.contains('OPS'))", ""),
        ("['A', 'C'].all(x, approvers.any(u, u.id == x))", "AC"),
        ("[['A'].count(), 5].any(n, approvers.filter(u, u.tags.contains('OPS')).count() > n)", "AB"),
        ("!approvers.any(u, u.id == 'A')", ""),
        ("approvers.all(u, u.tags.contains('OPS'))", ""),
        ("approvers.any(u, u.tags[0] == 'OPS')", ""),
        ("credentials.any(c, c.type == 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR')", "A"),
        ("credentials.filter(c, c.type == 'CREDENTIAL_TYPE_API_KEY_P256').count() >= 2", "ABCR"),
        ("credentials.any(c, c.credential_id == 'credential-A' && c.public_key == 'cose-A')", "A"),
        ("credentials.any(c, c.user_id == 'B' && c.id == 'key-B')", "B"),
        (
            "approvers.any(u, u.tags.contains('OPS') && credentials.any(c, c.user_id == u.id"
            " && c.type == 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR'))",
            "A",
        ),
        ("approvers.any(u, u.id == 'A') || credentials.any(c, c.user_id == 'C')", "AC"),
        ("true", ""),
    ],
)
def test_counted(consensus: str, counted: str) -> None:
    policies = [allow("activity.action == 'DELETE'", consensus)]
    asked = request("C", "DELETE_USERS", policies, users=HOUSE)
    assert voters(asked) == set(counted) | {"R"}
    for user_id in HOUSE:
        assert Authorizer(*asked).may_vote(user_id) is (user_id in counted or user_id == "R")


@pytest.mark.parametrize(
    "condition",
    ["activity.action == 'CREATE'", "wallet.id == 'W1'"],
)
def test_a_policy_about_something_else_counts_nobody(condition: str) -> None:
    asked = request("A", "DELETE_USERS", [allow(condition, "approvers.count() >= 2")])
    assert voters(asked) == {"R"}


def test_an_expired_key_could_not_approve() -> None:
    policies = [allow(consensus="credentials.any(c, c.id == 'key-E') && approvers.count() >= 2")]
    for expires, expected in ((None, Verdict.NEEDS_CONSENSUS), ("60", Verdict.DENY_IMPLICIT)):
        users = {**HOUSE, "E": user("E", expires=expires)}
        assert authorize(*request("A", "DELETE_USERS", policies, users=users)).verdict is expected


def test_who_counts_for_a_second_policy_may_vote_too() -> None:
    policies = [
        allow(consensus="approvers.filter(u, u.tags.contains('OPS')).count() >= 2"),
        allow(consensus="approvers.any(u, u.id == 'C')"),
    ]
    assert authorize(*request("A", "DELETE_USERS", policies)).policy_ids == ("P0",)
    assert voters(request("A", "DELETE_USERS", policies)) == {"A", "B", "C", "R"}
    assert authorize(*request(("A", "C"), "DELETE_USERS", policies)).policy_ids == ("P1",)


def test_many_users() -> None:
    users = {f"U{number}": user(f"U{number}", "OPS") for number in range(5000)}
    consensus = "approvers.filter(u, u.tags.contains('OPS')).count() >= 2 && approvers.all(u, u.alias != 'x')"
    asked = request("U7", "DELETE_USERS", [allow(consensus=consensus)], users=users)
    assert authorize(*asked).verdict is Verdict.NEEDS_CONSENSUS
    few = dict(list(users.items())[:300])  # asked about one by one
    asked = request("U7", "DELETE_USERS", [allow(consensus=consensus)], users=few)
    assert len(voters(asked)) == len(few)
