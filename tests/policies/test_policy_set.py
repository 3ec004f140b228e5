"""Slices of a policy set: they leave nothing out, and no decision depends on the requests before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.enums import Effect
from keystead.policies.authorize import Verdict, authorize
from keystead.policies.policy_set import SLICES_MAX, PolicySet, PolicySlice, RequestShape
from keystead.policies.request import Approval
from tests.support.examples import examples
from tests.support.policy_fixtures import USERS, allow, deny, is_user, numbered, passkey, policy, request, user

SEEN: Mapping[str, Mapping[str, Any]] = {
    "users are deleted": {"activity": "DELETE_USERS", "params": {"user_ids": ["A"]}},
    "other users are deleted": {"activity": "DELETE_USERS", "params": {"user_ids": ["B"]}},
    "users are deleted, and their ids are unknown": {"activity": "DELETE_USERS"},
    "a wallet signs": {"activity": "SIGN_RAW_PAYLOAD_V2", "resources": {"wallet": {"id": "W"}}},
    "another wallet signs": {"activity": "SIGN_RAW_PAYLOAD_V2", "resources": {"wallet": {"id": "V"}}},
    "a private key signs": {"activity": "SIGN_RAW_PAYLOAD_V2", "resources": {"private_key": {"id": "W"}}},
    "nothing is known of who signs": {"activity": "SIGN_RAW_PAYLOAD_V2"},
    "a wallet is exported": {"activity": "EXPORT_WALLET", "resources": {"wallet": {"id": "W"}}},
}


@pytest.mark.parametrize(
    ("condition", "allowed"),
    [
        ("activity.params.user_ids.contains('A')", {"users are deleted"}),
        (
            "activity.params.user_ids.count() == 1 && activity.action == 'DELETE'",
            {"users are deleted", "other users are deleted"},
        ),
        ("wallet.id == 'W'", {"a wallet signs", "a wallet is exported"}),
        ("activity.action == 'SIGN' && wallet.id == 'W'", {"a wallet signs"}),
        ("private_key.id == 'W'", {"a private key signs"}),
        (
            "activity.action == 'SIGN'",
            {
                "a wallet signs",
                "another wallet signs",
                "a private key signs",
                "nothing is known of who signs",
            },
        ),
    ],
)
def test_a_decision_sees_its_own_request(condition: str, allowed: set[str]) -> None:
    policies = [allow(condition)]
    for names in (list(SEEN), list(SEEN)[::-1]):
        found = {name for name in names if authorize(*request("A", policies=policies, **SEEN[name])).policy_ids}
        assert found == allowed


def test_a_decision_sees_its_own_approvers() -> None:
    policies = [
        allow(consensus="approvers.any(u, u.tags.contains('OPS')) && credentials.all(c, c.id != 'passkey-A')"),
    ]
    untagged = {**USERS, "A": user("A", has_passkey=True)}
    cases = [
        (request("A", "CREATE_WALLET", policies), Verdict.ALLOW),
        (request([Approval("A", passkey("A"))], "CREATE_WALLET", policies), Verdict.DENY_IMPLICIT),
        (request("C", "CREATE_WALLET", policies), Verdict.DENY_IMPLICIT),
        (request("A", "CREATE_WALLET", policies, users=untagged), Verdict.DENY_IMPLICIT),
        (request(["C", "A"], "CREATE_WALLET", policies), Verdict.ALLOW),
    ]
    for case, verdict in (*cases, *reversed(cases)):
        assert authorize(*case).verdict is verdict


CONDITIONS = [
    "",
    "activity.action == 'SIGN'",
    "activity.type == 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD'",
    "activity.resource == 'USER' && activity.params.user_ids.contains('A')",
    "activity.params.user_ids.count() == 1",
    "wallet.id == 'W'",
    "activity.action == 'SIGN' && wallet.id == 'W'",
    "private_key.id != 'K'",
    "eth.tx.value > 5",
    "eth.tx.value > 5 || activity.action == 'SIGN'",
    "it.is == 'from another time'",
]
CONSENSUSES = [
    "",
    is_user("A"),
    "approvers.any(u, u.tags.contains('OPS'))",
    "approvers.count() >= 2",
    "approvers[7].id == 'A'",
    "credentials.all(c, c.id == 'key-A')",
]
TIMES = ["", "CronSpan('* * * * *', '1m', 'UTC')", "CronSpan('0 0 1 1 *', '1m', 'UTC')"]
REQUESTS: Sequence[dict[str, Any]] = [
    {"activity": "DELETE_USERS"},
    {"activity": "DELETE_USERS", "params": {"user_ids": ["A"]}},
    {"activity": "DELETE_USERS", "params": {"user_ids": ["B", "C"]}},
    {"activity": "SIGN_RAW_PAYLOAD_V2", "resources": {"wallet": {"id": "W"}}},
    {"activity": "SIGN_RAW_PAYLOAD_V2", "resources": {"wallet": {"id": "V"}}},
    {"activity": "SIGN_RAW_PAYLOAD_V2", "resources": {"private_key": {"id": "K"}}},
    {"activity": "SIGN_RAW_PAYLOAD_V2", "resources": {"eth": {"tx": {"value": 7}}}},
    {"activity": "SIGN_RAW_PAYLOAD_V2", "resources": {"eth": {"tx": {"value": "seven"}}}},
    {"activity": "CREATE_WALLET"},
]


class EveryPolicyOpen(PolicySet):
    """A set whose slices settle nothing."""

    def slice(self, shape: RequestShape) -> PolicySlice:
        settled = super().slice(shape).settled
        return PolicySlice(settled, tuple(range(len(settled))))


@settings(max_examples=examples(100))
@given(seed=st.integers(0, 2**64))
def test_what_a_slice_settles_is_what_evaluation_yields(seed: int) -> None:
    chance = Random(seed)
    policies = [
        policy(chance.choice(list(Effect)), *map(chance.choice, (CONDITIONS, CONSENSUSES, TIMES)))
        for _ in range(chance.randint(1, 12))
    ]
    sliced = numbered(policies)
    every_policy_open = EveryPolicyOpen(sliced.policies)
    for _ in range(12):
        by = chance.sample(sorted(USERS), chance.randint(1, 2))
        asked, _ = request(by, **chance.choice(REQUESTS))
        assert authorize(asked, sliced) == authorize(asked, every_policy_open)


def test_only_policies_that_the_shape_does_not_settle_are_open() -> None:
    policies = numbered(
        [
            allow("activity.action == 'SIGN'"),
            deny("eth.tx.value > 5"),
            allow("activity.params.user_ids.contains('A')"),
            allow(consensus="approvers[7].id == 'A'"),
            allow(),
            deny("activity.action == 'SIGN' && eth.tx.value > 5"),
        ]
    )
    activity = {"activity.type", "activity.kind", "activity.resource", "activity.action"}
    shape = RequestShape("ACTIVITY_TYPE_DELETE_USERS", frozenset({*activity, "activity.params.user_ids"}))
    assert policies.slice(shape).open == (2, 3, 4)
    assert [each.outcome.removeprefix("OUTCOME_") for each in policies.slice(shape).settled] == [
        *["DENY_IMPLICIT", "ERROR", "DENY_IMPLICIT", "DENY_IMPLICIT", "DENY_IMPLICIT", "ERROR"]
    ]
    signing = RequestShape("ACTIVITY_TYPE_SIGN_TRANSACTION_V2", frozenset({*activity, "eth.tx"}))
    assert policies.slice(signing).open == (0, 1, 3, 4, 5)


def test_slices_are_bounded() -> None:
    policies = numbered([allow("wallet.id == 'W'")])
    for number in range(3 * SLICES_MAX):
        policies.slice(RequestShape(f"ACTIVITY_TYPE_{number}", frozenset()))
    assert len(policies._slices) == SLICES_MAX


@pytest.mark.parametrize(
    ("condition", "reads"),
    [
        ("eth.tx.value > 5", True),
        ("activity.action == 'SIGN' && solana.tx.transfers.count() > 0", True),
        ("eth.eip_712.primary_type == 'Permit'", False),
        ("activity.kind == 'SIGN_TRANSACTION'", True),
        ("activity.params.type == 'TRANSACTION_TYPE_ETHEREUM'", True),
        ("activity.kind == 'SIGN_RAW_PAYLOAD'", False),
        ("", False),
    ],
)
def test_sets_that_read_transactions(condition: str, reads: bool) -> None:
    assert numbered([allow(), deny(condition)]).reads_transactions is reads


def loops(depth: int) -> str:
    """A condition that is false for every request, after 10^depth rounds."""
    condition = "false"
    for level in range(depth):
        condition = f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].any(v{level}, {condition})"
    return condition


def test_making_a_slice_is_bounded() -> None:
    """Conditions that no request can change were evaluated for each slice, with 100,000 steps each."""
    shape = RequestShape("ACTIVITY_TYPE_DELETE_USERS", frozenset())
    costly = numbered([deny(loops(4)), deny(loops(1))])
    assert costly.slice(shape).open == (0,)
    many = numbered([deny(loops(3))] * 1_000)
    assert len(many.slice(shape).open) > 900
