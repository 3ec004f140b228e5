"""What an expression may cost: expensive patterns are stopped, ordinary ones are far below the limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keystead.policies.bounds import EXPRESSION_STEPS_MAX
from keystead.policies.language.evaluation_context import Budget, EvaluationContext, Unknown
from tests.support.hanging import not_hanging
from tests.support.policy_fixtures import compiled, value_of

MANY = [{"id": str(number), "imported": True} for number in range(1000)]
LONG = "0x" + "aB" * 500_000
NESTED = "wallets.all(a, wallets.all(b, wallets.all(c, wallets.all(d, a.id == b.id || c.id == d.id))))"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("wallets.all(a, wallets.any(b, a.id == b.id))", {"wallets": MANY}),
        (NESTED, {"wallets": MANY}),
        ("wallets.filter(a, wallets.filter(b, a.id == b.id).count() == 1).count() > 5", {"wallets": MANY}),
        ("wallets.all(a, wallets[0..1000].count() == 1000)", {"wallets": MANY}),
        (
            "wallets.any(a, eth.tx.data[0..900000] == eth.tx.data[1..900001])",
            {"wallets": MANY, "eth": {"tx": {"data": LONG}}},
        ),
        (
            "wallets.all(a, eth.tx.data == eth.tx.to)",
            {"wallets": MANY, "eth": {"tx": {"data": LONG, "to": LONG.upper()}}},
        ),
        (
            "wallets.all(a, wallet.id == wallet.label)",
            {"wallets": MANY, "wallet": {"id": LONG, "label": str(LONG)}},
        ),
        (
            "wallets.any(a, private_key.tags.contains(private_key.id))",
            {"wallets": MANY, "private_key": {"tags": [LONG + "0", LONG + "1"], "id": LONG + "2"}},
        ),
        (
            "wallets.any(a, eth.tx.to in ['0x1', '0x2'])",
            {"wallets": MANY, "eth": {"tx": {"to": LONG}}},
        ),
        (
            "wallets.all(a, eth.eip_712.message['a'] == eth.eip_712.message['b'])",
            {"wallets": MANY, "eth": {"eip_712": {"message": {"a": LONG, "b": LONG.lower()}}}},
        ),
        (
            "eth.eip_712.message['a'].all(x, x == 1)",
            {"eth": {"eip_712": {"message": {"a": [1] * 300_000}}}},
        ),
    ],
)
def test_costs_are_bounded(text: str, values: Mapping[str, Any]) -> None:
    expression = compiled(text)
    with not_hanging():
        error = expression.evaluate(EvaluationContext(values), Budget(EXPRESSION_STEPS_MAX))
    assert isinstance(error, Unknown)
    assert "steps" in error.reason


def test_a_string_of_a_million_digits_is_not_read() -> None:
    values = {"eth": {"eip_712": {"message": {"a": "9" * 1_000_000}}}}
    with not_hanging():
        error = value_of("eth.eip_712.message['a'] > 5", values)
    assert isinstance(error, Unknown)


def test_ordinary_work_stays_far_below_the_limit() -> None:
    assert value_of("wallets.all(w, w.id != 'x' && w.imported)", {"wallets": MANY * 10}) is True
    assert EXPRESSION_STEPS_MAX == 100_000
