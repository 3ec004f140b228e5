"""How many further approvals a consensus needs: what is said is true for every set of users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import pytest

from keystead.operations.approvals_needed import Needed, approvals_needed

Rule = Callable[[Sequence[str]], bool]


def count(number: int) -> Rule:
    return lambda chosen: len(set(chosen)) >= number


def both(*rules: Rule) -> Rule:
    return lambda chosen: all(rule(chosen) for rule in rules)


def either(*rules: Rule) -> Rule:
    return lambda chosen: any(rule(chosen) for rule in rules)


def has(user: str) -> Rule:
    return lambda chosen: user in chosen


ABC, MANY = ("a", "b", "c"), tuple(f"u{number:02}" for number in range(40))

CASES: dict[str, tuple[Sequence[str], Rule, Needed | None]] = {
    "one of three": (ABC, count(1), Needed(1)),
    "two of three": (ABC, count(2), Needed(2)),
    "all three": (ABC, count(3), Needed(3, ABC[:0])),
    "two who are named": (("a", "b"), both(has("a"), has("b")), Needed(2)),
    "one alone": (("a",), has("a"), Needed(1)),
    "one who is named and one of the others": (ABC, both(has("a"), count(2)), Needed(2, ("a",))),
    "one, or two others": (ABC, either(has("a"), both(has("b"), has("c"))), None),
    "something else": (ABC, lambda _: False, None),
    "five of forty": (MANY, count(5), Needed(5)),
    "five of forty, the last among them": (MANY, both(has(MANY[-1]), count(5)), None),
    "three of fifteen, one of them named": (MANY[:15], both(has("u07"), count(3)), Needed(3, ("u07",))),
}


@pytest.mark.parametrize(("users", "rule", "expected"), CASES.values(), ids=CASES)
def test_needed(users: Sequence[str], rule: Rule, expected: Needed | None) -> None:
    found = approvals_needed(users, rule)
    assert (found and found.count) == (expected and expected.count)
    if found is None:
        return
    if found.required or (expected and expected.required):
        assert expected is not None
        assert found.required == expected.required
    if len(users) <= 6:
        for size in range(len(users) + 1):
            for chosen in combinations(users, size):
                said = size >= found.count and set(found.required) <= set(chosen)
                assert rule(chosen) is said, chosen


def test_the_trials_are_few() -> None:
    trials = 0

    def rule(chosen: Sequence[str]) -> bool:
        nonlocal trials
        trials += 1
        return len(chosen) >= 37

    assert approvals_needed([f"{number}" for number in range(100)], rule) == Needed(37)
    assert trials < 20
