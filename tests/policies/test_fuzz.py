"""No text makes the parser, the checker or the evaluator crash or hang.

A short run here. A long one: KEYSTEAD_FUZZ_INPUTS=1000000 python -m pytest tests/policies/test_fuzz.py
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest

from keystead.policies.bounds import EXPRESSION_CHARACTERS_MAX, EXPRESSION_STEPS_MAX
from keystead.policies.language.evaluation_context import Budget, EvaluationContext
from keystead.policies.language.namespaces import Clause
from keystead.policies.language.syntax import ExpressionRefused
from tests.support.expression_generator import random_text, random_values
from tests.support.hanging import not_hanging
from tests.support.policy_fixtures import compiled

INPUTS = int(os.environ.get("KEYSTEAD_FUZZ_INPUTS", "2000"))
SEED = int(os.environ.get("KEYSTEAD_FUZZ_SEED", "0"))

APPROVERS = [{"id": "A", "tags": ("OPS",), "email": "", "alias": "a"}]
VALUES = {
    Clause.CONSENSUS: {"approvers": APPROVERS, "credentials": []},
    Clause.CONDITION: random_values(Random(1)),
    Clause.TIME: {"time": {"now": 1_788_955_200_000_000_000}},
}


def outcome(text: str, clause: Clause) -> str:
    """What became of a text. Anything but a refusal or a value escapes, and fails the test."""
    try:
        expression = compiled(text, clause)
    except ExpressionRefused as refused:
        lines = text.split("\n")
        assert refused.reason
        assert 1 <= refused.place.line <= len(lines)
        assert 1 <= refused.place.column <= len(lines[refused.place.line - 1]) + 1
        return "refused"
    value = expression.evaluate(EvaluationContext(VALUES[clause]), Budget(EXPRESSION_STEPS_MAX))
    return f"evaluated: {type(value).__name__}"


def test_random_texts() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEED, SEED + INPUTS):
        chance = Random(seed)
        text = random_text(chance)
        clause = chance.choice([*Clause, Clause.CONDITION, Clause.CONDITION])
        print(f"seed {seed}")  # shown if it fails
        with not_hanging():
            seen[outcome(text, clause)] += 1
    assert len(seen) >= 3


@pytest.mark.parametrize(
    "unit",
    (
        *(
            "(",
            ")",
            "[",
            "]",
            "!",
            ".",
            "..",
            "a",
            "a.",
            "'",
            "''",
            "0",
            "a[",
            "[0]",
            "a.b",
            "a(",
            "&&",
            "a&&",
            "a||",
        ),
        *("a.any(x,", "a==", ".count", "\n", " ", "\t", "a in ", "[[", "[a,", "\U0001f511", "-", "Timestamp("),
    ),
)
def test_one_thing_over_and_over(unit: str) -> None:
    for text in (
        unit * (EXPRESSION_CHARACTERS_MAX // len(unit)),
        "a" + unit * ((EXPRESSION_CHARACTERS_MAX - 1) // len(unit)),
    ):
        with not_hanging():
            for clause in Clause:
                outcome(text, clause)
