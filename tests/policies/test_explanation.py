"""Why an expression is true, false or fails: its parts, each with its value and what it read."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from keystead.policies.bounds import EXPLANATION_PARTS_MAX, EXPRESSION_STEPS_MAX
from keystead.policies.explanation import Part, explain
from keystead.policies.language.evaluation_context import Budget, EvaluationContext, NotApplicable, Unknown, Value
from keystead.policies.language.expression import Expression, ExpressionSource
from keystead.policies.language.grammar import parse
from keystead.policies.language.namespaces import Clause
from keystead.policies.language.source_text import text_of
from keystead.policies.language.syntax import ExpressionRefused
from keystead.primitives.unreadable import Unreadable
from tests.policies.test_grammar import shape
from tests.support.expression_generator import Writer, random_values

VALUES: dict[str, Any] = {
    "activity": {"type": "ACTIVITY_TYPE_SIGN_TRANSACTION_V2", "kind": "SIGN_TRANSACTION", "params": {}},
    "eth": {
        "tx": {
            "value": 7,
            "to": "0xab",
            "chain_id": 1,
            "function_name": Unreadable("no interface is uploaded"),
            "contract_call_args": {"amounts": [1, Unreadable("the option is absent")]},
        }
    },
}
APPROVERS = {"approvers": [{"id": "u1", "alias": "Alice", "tags": ["t"], "email": ""}], "credentials": []}


def in_words(value: Value) -> bool | str:
    return value.reason if isinstance(value, Unknown | NotApplicable) else value


def shown(part: Part) -> tuple[int, str, str, bool | str, list[tuple[str, str]]]:
    return (
        part.depth,
        part.operator,
        part.text,
        in_words(part.value),
        [(each.path, each.value) for each in part.values],
    )


EXPLAINED: list[tuple[Clause, str, list[Any]]] = [
    (
        Clause.CONDITION,
        "activity.kind == 'SIGN_TRANSACTION' && (eth.tx.value < 5 || !(eth.tx.chain_id == 1))",
        [
            (
                0,
                "&&",
                "activity.kind == 'SIGN_TRANSACTION' && (eth.tx.value < 5 || !(eth.tx.chain_id == 1))",
                False,
                [],
            ),
            (1, "", "activity.kind == 'SIGN_TRANSACTION'", True, [("activity.kind", "SIGN_TRANSACTION")]),
            (1, "||", "eth.tx.value < 5 || !(eth.tx.chain_id == 1)", False, []),
            (2, "", "eth.tx.value < 5", False, [("eth.tx.value", "7")]),
            (2, "!", "!(eth.tx.chain_id == 1)", False, []),
            (3, "", "eth.tx.chain_id == 1", True, [("eth.tx.chain_id", "1")]),
        ],
    ),
    (
        Clause.CONDITION,
        "true || solana.tx.transfers.count() > 0",
        [
            (0, "||", "true || solana.tx.transfers.count() > 0", "solana.tx is absent", []),
            (1, "", "true", True, []),
            (1, "", "solana.tx.transfers.count() > 0", "solana.tx is absent", []),
        ],
    ),
    (
        Clause.CONDITION,
        "eth.tx.function_name == 'approve' || eth.tx.value in eth.tx.contract_call_args['amounts']",
        [
            (
                0,
                "||",
                "eth.tx.function_name == 'approve' || eth.tx.value in eth.tx.contract_call_args['amounts']",
                "eth.tx.function_name is unknown: no interface is uploaded",
                [],
            ),
            (
                1,
                "",
                "eth.tx.function_name == 'approve'",
                "eth.tx.function_name is unknown: no interface is uploaded",
                [],
            ),
            (
                1,
                "",
                "eth.tx.value in eth.tx.contract_call_args['amounts']",
                "eth.tx.contract_call_args['amounts'][…] is unknown: the option is absent",
                [
                    ("eth.tx.value", "7"),
                    ("eth.tx.contract_call_args['amounts']", "1, unknown: the option is absent"),
                ],
            ),
        ],
    ),
    (
        Clause.CONSENSUS,
        "approvers.count() >= 2 && approvers.any(user, user.tags.contains('t'))",
        [
            (0, "&&", "approvers.count() >= 2 && approvers.any(user, user.tags.contains('t'))", False, []),
            (1, "", "approvers.count() >= 2", False, [("approvers.count()", "1")]),
            (1, "", "approvers.any(user, user.tags.contains('t'))", True, [("approvers", "Alice")]),
        ],
    ),
    (
        Clause.TIME,
        "time.now < Timestamp('2020-01-01T00:00:00Z')",
        [(0, "", "time.now < Timestamp('2020-01-01T00:00:00Z')", False, [("time.now", "2026-08-31T22:00:00Z")])],
    ),
    (Clause.CONDITION, "nothing == 1", [(0, "", "nothing == 1", ..., [])]),
]


@pytest.mark.parametrize(("clause", "text", "expected"), EXPLAINED)
def test_parts_in_order(clause: Clause, text: str, expected: list[Any]) -> None:
    values = {
        Clause.CONDITION: VALUES,
        Clause.CONSENSUS: APPROVERS,
        Clause.TIME: {"time": {"now": 1_788_213_600_000_000_000}},
    }
    parts = [shown(part) for part in explain(ExpressionSource(text, clause), values[clause])]
    assert [each[:3] + each[4:] for each in parts] == [each[:3] + each[4:] for each in expected]
    for part, wanted in zip(parts, expected, strict=True):
        assert wanted[3] in (..., part[3])


def test_many_parts_and_long_values_are_cut() -> None:
    text = " && ".join(["eth.tx.data == '0x'"] * 300)
    parts = explain(ExpressionSource(text, Clause.CONDITION), {"eth": {"tx": {"data": "f" * 100_000}}})
    assert len(parts) == EXPLANATION_PARTS_MAX
    assert max(len(value.value) for part in parts for value in part.values) < 300


def test_the_first_part_has_the_value_that_decides() -> None:
    """The first part has the value that a decision has, for any expression."""
    chance = Random(7)
    compared = 0
    while compared < 300:
        source = ExpressionSource(Writer(chance).condition(3), Clause.CONDITION)
        values = random_values(chance)
        try:
            expression = Expression(source)
        except ExpressionRefused:
            continue
        decided = expression.evaluate(EvaluationContext(values), Budget(EXPRESSION_STEPS_MAX))
        whole = explain(source, values)[0].value
        assert (type(whole), in_words(whole)) == (type(decided), in_words(decided)), source.text
        compared += 1


TEXTS = [
    "!(a == b) && (c || d) || !!e",
    "(a && b) && c || (d || e)",
    "x.any(u, u.id in ['a', 'b'] && !(u.t == 1)) == true",
    "x[0].y[1..2].filter(z, z > 1).count() >= 2",
    "m['key'].contains('v') && (a == b) == false",
    "time.now < Timestamp('2027-01-01T00:00:00Z') || CronSpan('0 9 * * *', '8h', 'UTC')",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_from_a_tree_gives_the_tree(text: str) -> None:
    tree = parse(text)
    assert shape(parse(text_of(tree))) == shape(tree)


def test_any_tree_has_a_text() -> None:
    chance = Random(3)
    read = 0
    while read < 300:
        try:
            tree = parse(Writer(chance).condition(4))
        except ExpressionRefused:
            continue
        assert shape(parse(text_of(tree))) == shape(tree)
        read += 1
