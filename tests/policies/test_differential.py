"""The evaluator against the interpreter that reads the rules aloud, and the judgement against its own rules."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policies.cast import TWO_OF_THREE, USERS, allow, deny, facts, is_user
from tests.policies.naive import interpreted
from tests.policies.writing import Writer, request

from keystead.policies.expression import Expression
from keystead.policies.frame import EvaluationError
from keystead.policies.grammar import parse
from keystead.policies.judgement import Verdict, judge
from keystead.policies.namespaces import Clause
from keystead.policies.resources import OWN_RIGHTS


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 2**64), depth=st.integers(0, 4))
def test_the_evaluator_agrees_with_a_slow_reading(seed: int, depth: int) -> None:
    chance = Random(seed)
    text = Writer(chance).condition(depth)
    expression = Expression(text, Clause.CONDITION)
    for _ in range(5):
        values = request(chance)
        value = expression.evaluate(values)
        found = None if isinstance(value, EvaluationError) else value
        assert found is interpreted(parse(text), Clause.CONDITION, values), (text, values, value)
