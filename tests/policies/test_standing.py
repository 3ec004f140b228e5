"""What stands in a situation is found once, and no decision comes out otherwise for it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keystead.api.enums import Effect
from keystead.policies import hearing
from keystead.policies.expression import Broken, Expression, compile_expression
from keystead.policies.facts import Facts, NamedPolicy
from keystead.policies.hearing import Hearing
from keystead.policies.judgement import judge
from keystead.policies.namespaces import Clause
from keystead.policies.policy import CompiledPolicy
from keystead.policies.standing import Kept, Standing
from keystead.policies.syntax import ExpressionRefused, Place
from tests.support.policy_fixtures import USERS, allow, deny, facts, is_user

CONDITIONS = [
    "",
    "activity.action == 'SIGN'",
    "activity.action == 'DELETE'",
    "activity.resource == 'USER' && activity.params.user_ids.contains('A')",
    "activity.params.user_ids.count() == 1",
    "wallet.id == 'W'",
    "activity.action == 'SIGN' && wallet.id == 'W'",
    "private_key.id != 'K'",
    "eth.tx.value > 5",
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
    {"activity": "CREATE_WALLET"},
]


def random_policy(chance: Random) -> CompiledPolicy:
    def clause(texts: Sequence[str], kind: Clause) -> Expression | Broken | None:
        if chance.random() < 0.05:
            return Broken(ExpressionRefused("it is from another time", Place(1, 1)))
        text = chance.choice(texts)
        return compile_expression(text, kind) if text else None

    return CompiledPolicy(
        effect=chance.choice(list(Effect)),
        condition=clause(CONDITIONS, Clause.CONDITION),
        consensus=clause(CONSENSUSES, Clause.CONSENSUS),
        time=clause(TIMES, Clause.TIME),
    )


def same_policies(asked: Facts, policies: Sequence[NamedPolicy]) -> Facts:
    return replace(asked, policies=policies)


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**64), fail_closed=st.booleans(), budget=st.sampled_from([1_000_000, 1_000_000, 60]))
def test_as_if_asked_for_the_first_time(seed: int, fail_closed: bool, budget: int) -> None:
    chance = Random(seed)
    policies = [NamedPolicy(f"{number:02}", random_policy(chance)) for number in range(chance.randint(1, 12))]
    before = hearing.DECISION_STEPS_MAX
    hearing.DECISION_STEPS_MAX = budget
    try:
        for _ in range(12):
            by = chance.sample(sorted(USERS), chance.randint(1, 2))
            asked = facts(by, policies=[], fail_closed=fail_closed, **chance.choice(REQUESTS))
            met_before, first = same_policies(asked, policies), same_policies(asked, list(policies))
            assert judge(met_before) == judge(first)
            heard, heard_first = Hearing(met_before), Hearing(first)
            assert heard._steps_left == heard_first._steps_left
            assert heard.denying == heard_first.denying
    finally:
        hearing.DECISION_STEPS_MAX = before


def test_most_of_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the second request asks only what it must is what this is for."""
    asked_of: list[str] = []
    evaluation = Hearing._evaluation

    def counted(self: Hearing, named: NamedPolicy) -> hearing.PolicyEvaluation:
        asked_of.append(named.id)
        return evaluation(self, named)

    monkeypatch.setattr(Hearing, "_evaluation", counted)
    written = {
        "another action": allow("activity.action == 'SIGN'"),
        "nothing of the kind": deny("eth.tx.value > 5"),
        "by its parameters": allow("activity.params.user_ids.contains('A')"),
        "by whom": allow(consensus="approvers[7].id == 'A'"),
        "always": allow(),
    }
    policies = [NamedPolicy(name, policy) for name, policy in written.items()]
    for params in ({"user_ids": ["A"]}, {"user_ids": ["B"]}):
        asked_of.clear()
        judge(same_policies(facts("A", "DELETE_USERS", [], params=params), policies))
    assert asked_of == ["by its parameters", "always"]


def standing(count: int) -> tuple[list[NamedPolicy], Standing]:
    return [NamedPolicy(str(number), allow()) for number in range(count)], Standing((), (), {}, 0)


def test_kept_in_bounded_memory() -> None:
    kept = Kept[Standing](policies_max=2 * (4 + 10))  # each situation takes as much as ten policies
    made = [standing(4) for _ in range(3)]
    for policies, stands in made:
        kept.keep(policies, "situation", stands)
        kept.keep(policies, "situation", stands)
    found = [kept.of(policies, "situation") for policies, _ in made]
    assert found == [None, made[1][1], made[2][1]]
    assert kept.of(made[1][0], "another") is None
    assert kept.of(list(made[1][0]), "situation") is None
    policies, stands = standing(19)
    kept.keep(policies, "situation", stands)
    assert all(kept.of(each, "situation") is None for each in (policies, *(one for one, _ in made)))


def test_kept_in_bounded_memory_without_policies() -> None:
    kept = Kept[Standing](policies_max=20)
    none, stands = standing(0)
    for situation in ("first", "second", "third"):
        kept.keep(none, situation, stands)
    assert [kept.of(none, situation) for situation in ("first", "second", "third")] == [None, stands, stands]


def test_used_last_goes_last() -> None:
    kept = Kept[Standing](policies_max=2 * (4 + 10))
    first, second, third = (standing(4) for _ in range(3))
    kept.keep(first[0], "s", first[1])
    kept.keep(second[0], "s", second[1])
    assert kept.of(first[0], "s") is first[1]
    kept.keep(third[0], "s", third[1])
    assert [kept.of(policies, "s") is not None for policies, _ in (first, second, third)] == [True, False, True]
