"""What an expression that names one version of a kind of activity says about the other versions: where it allows,
it means this version alone; where its negation allows, and where it denies, the kind, however it is spelled.

So a comparison of two versions of one kind is unknown, and Kleene's logic does the rest. Not here: that logic
(`test_evaluation`), sessions and policies over HTTP (`tests.server.test_versions`).
"""

from __future__ import annotations

from itertools import groupby, permutations, product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.catalogue import activity_kind
from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.operations import CATALOGUE
from keystead.pipeline.operation import ActivityOperation
from keystead.policies.language.evaluation_context import Unknown
from keystead.policies.language.syntax import ExpressionRefused
from keystead.policies.request import RequestedActivity, condition_values
from keystead.policies.resources import attributes_of
from tests.support.examples import examples
from tests.support.policy_fixtures import compiled, value_of

EXECUTED = {
    name for operation in CATALOGUE if isinstance(operation, ActivityOperation) for name in operation.activity_types
}
KINDS = [
    list(of_kind)
    for _, of_kind in groupby(
        sorted(filter(attributes_of, ACTIVITY_TYPES | EXECUTED), key=lambda name: (activity_kind(name), name)),
        activity_kind,
    )
]
PAIRS = [pair for of_kind in KINDS for pair in permutations(of_kind, 2)]
"""A version that an expression names, and one that is submitted."""
OTHER = "ACTIVITY_TYPE_DELETE_USERS"


def value_for(text: str, activity_type: str) -> Any:
    return value_of(text, condition_values(RequestedActivity(type=activity_type), {}))


EXCLUDING = [
    "activity.type != '{}'",
    "'{}' != activity.type",
    "!(activity.type == '{}')",
    "!(activity.type in ['ACTIVITY_TYPE_CREATE_USER_TAG', '{}'])",
    "!['{}'].contains(activity.type)",
    "!(!(activity.type != '{}'))",
    "(activity.type == '{}') == false",
    "(activity.type == '{}') != true",
    "true != (activity.type == '{}')",
    "!(activity.type == '{}' || activity.kind == 'X')",
    "activity.action != 'X' && activity.type != '{}'",
    "['{}'].all(t, t != activity.type)",
    "!['{}'].any(t, t == activity.type)",
    "[activity.type].all(t, t != '{}')",
    "['{}'].filter(t, t == activity.type).count() == 0",
    "!(['{}'].filter(t, t == activity.type).count() > 0)",
    "1 > ['{}'].filter(t, activity.type == t).count()",
    "['{}', 'X'].filter(t, t != activity.type).count() == 2",
    "['{}', 'X'].filter(t, t != activity.type).any(t, t != 'X')",
    "(activity.type == '{}') == (activity.kind == 'X')",
    "[activity.type == '{}'].all(is, is == false)",
    "[activity.type == '{}'].contains(false)",
    "![activity.type == '{}'][0]",
    "(activity.type == '{}') in [false]",
]
"""Conditions that are true for every activity but those of one version, and so for no activity of its kind."""
COVERING = [
    "activity.type == '{}'",
    "activity.type in ['X', '{}']",
    "['{}'].contains(activity.type)",
    "!(activity.type != '{}')",
    "(activity.type == '{}') != false",
    "['{}'].any(t, t == activity.type)",
    "['{}'].filter(t, t == activity.type).count() > 0",
    "['{}'].filter(t, t == activity.type).count() == 1",
    "(activity.type == '{}') == (activity.kind != 'X')",
    "[activity.type == '{}'][0]",
    "activity.type == '{}' || activity.kind == 'X'",
    "activity.type == '{}' && activity.kind != 'X'",
]
"""Conditions that are true for the activities of one version."""


def test_there_are_kinds_with_versions() -> None:
    assert len(PAIRS) > 100
    assert {len(of_kind) for of_kind in KINDS} >= {1, 2, 3, 9}


@pytest.mark.parametrize("text", EXCLUDING)
def test_an_allow_policy_and_a_scope_that_exclude_a_version_exclude_the_kind(text: str) -> None:
    for named, submitted in PAIRS:
        assert value_for(text.format(named), named) is False, named
        assert isinstance(value_for(text.format(named), submitted), Unknown), (named, submitted)
        assert value_for(text.format(named), OTHER) is True


@pytest.mark.parametrize("text", COVERING)
def test_a_deny_policy_that_covers_a_version_covers_the_kind(text: str) -> None:
    for named, submitted in PAIRS:
        assert value_for(text.format(named), named) is True, named
        assert isinstance(value_for(text.format(named), submitted), Unknown), (named, submitted)
        assert value_for(text.format(named), OTHER) is False


@pytest.mark.parametrize(
    "text",
    [
        "activity.type in ['{}', '{}']",
        "activity.type == '{}' || activity.type == '{}'",
        "['{}', '{}'].any(t, t == activity.type)",
    ],
)
def test_several_versions_are_named_in_one_expression(text: str) -> None:
    for named, submitted in PAIRS:
        for version in (named, submitted):
            assert value_for(text.format(named, submitted), version) is True
            assert value_for(f"!({text.format(named, submitted)})", version) is False


class Written:
    """A random condition about the type alone. `readings` are its classical values if each comparison of two
    versions of one kind is read in every way."""

    def __init__(self, chance: Random, literals: list[str], submitted: str, depth: int) -> None:
        self.text, self.readings = self._written(chance, literals, submitted, depth)

    def _written(
        self, chance: Random, literals: list[str], submitted: str, depth: int
    ) -> tuple[str, frozenset[bool]]:
        if depth == 0:
            literal, is_equality = chance.choice(literals), chance.random() < 0.5
            equal = {literal == submitted}
            if literal != submitted and activity_kind(literal) == activity_kind(submitted):
                equal = {True, False}
            text = f"activity.type {'==' if is_equality else '!='} '{literal}'"
            return text, frozenset(each is is_equality for each in equal)
        (one, these), (other, those) = (self._written(chance, literals, submitted, depth - 1) for _ in range(2))
        both = list(product(these, those))
        match chance.randrange(5):
            case 0:
                return f"!({one})", frozenset(not each for each in these)
            case 1:
                return f"({one}) && ({other})", frozenset(a and b for a, b in both)
            case 2:
                return f"({one}) || ({other})", frozenset(a or b for a, b in both)
            case 3:
                return f"({one}) == ({other})", frozenset(a is b for a, b in both)
            case _:
                return f"[{one}, {other}].filter(is, is).count() == 1", frozenset(a is not b for a, b in both)


@settings(max_examples=examples(400))
@given(seed=st.integers(0, 2**64), depth=st.integers(0, 3), pair=st.sampled_from(PAIRS))
def test_what_is_known_holds_for_every_reading_of_versions(seed: int, depth: int, pair: tuple[str, str]) -> None:
    """An ALLOW policy or a scope allows only what every reading allows; a DENY policy or an MFA condition that any
    reading covers is not false."""
    chance = Random(seed)
    for submitted in pair:
        written = Written(chance, [*pair, OTHER], submitted, depth)
        value = value_for(written.text, submitted)
        if len(written.readings) == 1:
            assert value in written.readings, (written.text, submitted)
        else:
            assert isinstance(value, Unknown), (written.text, submitted)


@pytest.mark.parametrize(
    "text",
    [
        "activity.type[14..29] == 'CREATE_API_KEYS'",
        "activity.type[0] == 'A'",
        "secret.static_properties[activity.type] == 'x'",
        "eth.eip_712.message[activity.type] == 'x'",
        "activity.type == eth.tx.to",
        "activity.type == wallet_account.address",
        "activity.type == eth.eip_712.message['type']",
        "activity.type == eth.eip_7702_authorization.nonce",
        "activity.type in [eth.tx.to, 'ACTIVITY_TYPE_CREATE_API_KEYS_V2']",
        "[activity.type, wallet_account.address].contains('ACTIVITY_TYPE_CREATE_API_KEYS_V2')",
        "activity.type < 'ACTIVITY_TYPE_CREATE_API_KEYS_V2'",
    ],
)
def test_a_type_is_compared_as_a_whole_with_strings_alone(text: str) -> None:
    """Each of these would tell versions apart in a way of its own."""
    with pytest.raises(ExpressionRefused, match=r"an activity type|a value known at evaluation"):
        compiled(text)


@pytest.mark.parametrize(
    "of_kind", [of_kind for of_kind in KINDS if len(of_kind) > 1], ids=lambda of_kind: of_kind[0]
)
def test_versions_of_a_kind_have_the_same_attributes(of_kind: list[str]) -> None:
    values = [condition_values(RequestedActivity(type=name), {})["activity"] for name in of_kind]
    assert (
        len({tuple(sorted((key, value) for key, value in each.items() if key in ATTRIBUTES)) for each in values})
        == 1
    )


ATTRIBUTES = ("kind", "resource", "action")
