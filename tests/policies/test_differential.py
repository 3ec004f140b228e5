"""The evaluator against a simple interpreter of the documented rules, and the decision against its own rules."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.policies.authorize import Verdict, authorize
from keystead.policies.bounds import EXPRESSION_STEPS_MAX
from keystead.policies.language.evaluation_context import Budget, EvaluationContext, NotApplicable, Unknown
from keystead.policies.language.grammar import parse
from keystead.policies.language.namespaces import Clause
from keystead.policies.resources import OWN_RIGHTS
from tests.support.examples import examples
from tests.support.expression_generator import Writer, random_values, readable_anyhow
from tests.support.naive_evaluator import NOT_APPLICABLE, UNKNOWN, interpreted
from tests.support.policy_fixtures import TWO_OF_THREE, USERS, allow, compiled, deny, is_user, request


@settings(max_examples=examples(150))
@given(seed=st.integers(0, 2**64), depth=st.integers(0, 4))
def test_the_evaluator_agrees_with_a_slow_reading(seed: int, depth: int) -> None:
    chance = Random(seed)
    text = Writer(chance).condition(depth)
    expression, tree = compiled(text), parse(text)
    for _ in range(5):
        values = random_values(chance)
        value = expression.evaluate(EvaluationContext(values), Budget(EXPRESSION_STEPS_MAX))
        found = UNKNOWN if isinstance(value, Unknown) else value
        found = NOT_APPLICABLE if isinstance(value, NotApplicable) else found
        expected = interpreted(tree, Clause.CONDITION, values)
        assert found == expected, (text, values, value)


@settings(max_examples=examples(150))
@given(seed=st.integers(0, 2**64), depth=st.integers(0, 4))
def test_what_is_known_stays_so_whatever_the_unreadable_values_are(seed: int, depth: int) -> None:
    chance = Random(seed)
    expression = compiled(Writer(chance).condition(depth))
    for _ in range(5):
        values = random_values(chance, literals=False)
        value = expression.evaluate(EvaluationContext(values), Budget(EXPRESSION_STEPS_MAX))
        if isinstance(value, bool):
            for _ in range(5):
                completed = readable_anyhow(values, chance)
                assert expression.evaluate(EvaluationContext(completed), Budget(EXPRESSION_STEPS_MAX)) is value, (
                    expression.source,
                    values,
                    completed,
                )


ABSENT = "the activity has no such keyword"
CONDITIONS = {
    "true": True,
    "activity.action == 'SIGN'": False,
    "secret.static_properties['kind'] == 'card'": None,
    "wallet.id == 'W1'": ABSENT,
}
"""None: it is unknown."""
TIMES = {"": True, "CronSpan('* * * * *', '1m', 'UTC')": True, "CronSpan('0 0 1 1 *', '1m', 'UTC')": False}


def holds(consensus: str, approvers: set[str]) -> bool | None:
    """What a consensus says of these approvers, in words of this test."""
    match consensus.split():
        case []:
            return True
        case ["is", user_id]:
            return user_id in approvers
        case ["count", number]:
            return len(approvers) >= int(number)
        case ["tag", tag, number]:
            return sum(tag in USERS[each].user_tags for each in approvers) >= int(number)
        case ["never"]:
            return False
        case _:
            return None


def counts(consensus: str, user_id: str) -> bool:
    match consensus.split():
        case ["is", other]:
            return user_id == other
        case ["tag", tag, _]:
            return tag in USERS[user_id].user_tags
        case ["count", _]:
            return True
        case _:
            return False


def spelled(consensus: str) -> str:
    match consensus.split():
        case []:
            return ""
        case ["is", user_id]:
            return is_user(user_id)
        case ["count", number]:
            return f"approvers.count() >= {number}"
        case ["tag", tag, number]:
            return f"approvers.filter(u, u.tags.contains('{tag}')).count() >= {number}"
        case ["never"]:
            return "false"
        case _:
            return "approvers[99].id == 'A'"


CONSENSUSES = [
    "",
    "",
    "is A",
    "is B",
    "is R1",
    "count 2",
    "count 3",
    "count 99",
    "tag OPS 2",
    "tag SEC 1",
    "never",
    "!",
]
Written = tuple[bool, str, str, str]


def read_aloud(
    policies: list[Written], by: list[str], activity: str, owner: str | None, quorum: tuple[str, ...]
) -> Verdict:
    """The rules in their order, one sentence each. The threshold is two."""
    approvers, submitter = set(by), by[0]
    if len(approvers & set(quorum)) >= 2:
        return Verdict.ALLOW
    member = bool(approvers & set(quorum))
    if activity == "UPDATE_ROOT_QUORUM":
        return Verdict.NEEDS_CONSENSUS if member else Verdict.DENY_IMPLICIT
    denied = allowed = waiting = False
    for is_allow, condition, consensus, time in policies:
        clauses = (CONDITIONS[condition], holds(consensus, approvers), TIMES[time])
        if ABSENT in clauses:
            continue
        if not is_allow and False not in clauses:
            denied = True
        if is_allow and all(clauses):
            allowed = True
        if is_allow and clauses == (True, False, True) and counts(consensus, submitter):
            waiting = waiting or holds(consensus, set(USERS)) is True
    if denied:
        return Verdict.NEEDS_CONSENSUS if member else Verdict.DENY_EXPLICIT
    if allowed:
        return Verdict.ALLOW
    if waiting:
        return Verdict.NEEDS_CONSENSUS
    if owner == submitter and activity in OWN_RIGHTS:
        return Verdict.ALLOW
    return Verdict.NEEDS_CONSENSUS if member else Verdict.DENY_IMPLICIT


written = st.tuples(
    st.booleans(),
    st.sampled_from(sorted(CONDITIONS)),
    st.sampled_from(CONSENSUSES),
    st.sampled_from(sorted(TIMES)),
)


@settings(max_examples=examples(150))
@given(
    policies=st.lists(written, max_size=5),
    by=st.lists(st.sampled_from(["A", "B", "C", "R1", "R2"]), min_size=1, max_size=4),
    activity=st.sampled_from(["DELETE_USERS", "CREATE_API_KEYS", "UPDATE_ROOT_QUORUM"]),
    owner=st.sampled_from(["A", "C", "R1", None]),
)
def test_the_decision_agrees_with_its_rules(
    policies: list[Written], by: list[str], activity: str, owner: str | None
) -> None:
    written_policies = [
        (allow if is_allow else deny)(condition, spelled(consensus), time)
        for is_allow, condition, consensus, time in policies
    ]
    resources: dict[str, Any] = {"secret": {"static_properties": {}}}
    asked = request(by, activity, written_policies, owner=owner, quorum=TWO_OF_THREE, resources=resources)
    expected = read_aloud(policies, by, activity, owner, TWO_OF_THREE.user_ids)
    assert authorize(*asked).verdict is expected
