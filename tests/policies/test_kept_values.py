"""Values of conditions are kept between decisions, yet no decision is told what another one saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keystead.policies import expression
from keystead.policies.expression import compile_expression
from keystead.policies.facts import Approval
from keystead.policies.frame import STEPS_MAX, Frame, spent
from keystead.policies.judgement import Verdict, judge
from keystead.policies.namespaces import Clause
from tests.support.policy_fixtures import USERS, allow, facts, passkey, user

SEEN: Mapping[str, Mapping[str, Any]] = {
    "users are deleted": {"activity": "DELETE_USERS", "params": {"user_ids": ["A"]}},
    "other users are deleted": {"activity": "DELETE_USERS", "params": {"user_ids": ["B"]}},
    "users are deleted, and nothing is known of whom": {"activity": "DELETE_USERS"},
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
        found = {name for name in names if judge(facts("A", policies=policies, **SEEN[name])).policy_ids}
        assert found == allowed


def test_a_decision_sees_its_own_approvers() -> None:
    policies = [
        allow(consensus="approvers.any(u, u.tags.contains('OPS')) && credentials.all(c, c.id != 'passkey-A')"),
    ]
    untagged = {**USERS, "A": user("A", has_passkey=True)}
    cases = [
        (facts("A", "CREATE_WALLET", policies), Verdict.ALLOW),
        (facts([Approval("A", passkey("A"))], "CREATE_WALLET", policies), Verdict.DENY_IMPLICIT),
        (facts("C", "CREATE_WALLET", policies), Verdict.DENY_IMPLICIT),
        (facts("A", "CREATE_WALLET", policies, users=untagged), Verdict.DENY_IMPLICIT),
        (facts(["C", "A"], "CREATE_WALLET", policies), Verdict.ALLOW),
    ]
    for case, verdict in (*cases, *reversed(cases)):
        assert judge(case).verdict is verdict


def test_what_a_kept_value_cost_is_charged_again() -> None:
    condition = compile_expression("activity.action in ['SIGN', 'EXPORT'] && wallet.id != 'kept'", Clause.CONDITION)
    frame = Frame({"activity": {"action": "SIGN"}})
    value = condition.evaluate_in(frame)
    cost = spent(frame, STEPS_MAX)
    assert cost > 0
    assert [condition.evaluate_once(("SIGN",), frame) for _ in range(2)] == [(value, cost)] * 2


def test_values_are_kept_in_a_bounded_number_of_situations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expression, "SITUATIONS_KEPT", 3)
    condition = compile_expression("activity.kind == 'BOUNDED'", Clause.CONDITION)
    for kind in ("BOUNDED", *map(str, range(10)), "BOUNDED"):
        value, _ = condition.evaluate_once((kind,), Frame({"activity": {"kind": kind}}))
        assert value is (kind == "BOUNDED")
        assert len(condition._kept) <= 3
