"""Which MFA policy of a user is enforced: what its condition reads, what it cannot read, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from keystead.api.records import MfaPolicy, Timestamp, User
from keystead.pipeline.mfa import STEPS_MAX, MfaConditions, enforced_policies
from keystead.pipeline.policy_set_cache import MFA_CHARACTERS_MAX, evaluated_conditions
from keystead.policies.language.evaluation_context import Budget, EvaluationContext
from keystead.policies.language.expression import CompiledExpression, Expression, compile_stored
from keystead.policies.policy import mfa_condition_source
from keystead.primitives.unreadable import Unreadable
from tests.support.policy_fixtures import ANA

MANY = [{"id": str(number)} for number in range(200)]
COSTLY = "wallets.all(a, wallets.any(b, a.id == b.id))"


def user_with(*conditions: str) -> User:
    policies = [
        MfaPolicy(
            mfa_policy_id=condition,
            mfa_policy_name=condition,
            condition=condition,
            required_authentication_methods=(),
            order=order,
            notes=None,
            created_at=Timestamp.from_ms(0),
            updated_at=Timestamp.from_ms(0),
        )
        for order, condition in enumerate(conditions)
    ]
    return replace(ANA, mfa_policies=tuple(policies))


def compiled(*texts: str) -> dict[str, CompiledExpression]:
    return {text: compile_stored(mfa_condition_source(text)) for text in texts if text}


def enforced(user: User, items: Sequence[Mapping[str, Any]], **given: bool) -> list[int]:
    """The orders of the user's policies that are enforced."""
    texts = [policy.condition for policy in user.mfa_policies]
    policies = enforced_policies(user, MfaConditions(compiled(*texts), items, **given))
    return [policy.order for policy in policies]


UNKNOWN = {"eth": {"tx": {"value": Unreadable("the call does not decode")}}}
CASES: list[tuple[str, str, Mapping[str, Any], bool]] = [
    ("no condition", "", {}, True),
    ("true", "wallet.id == 'W'", {"wallet": {"id": "W"}}, True),
    ("false", "wallet.id == 'W'", {"wallet": {"id": "V"}}, False),
    ("a keyword that the activity lacks", "wallet.id == 'W'", {}, False),
    ("and something unknown", "wallet.id == 'W' || eth.tx.value > 5", UNKNOWN, False),
    ("unknown", "eth.tx.value > 5", UNKNOWN, True),
    ("unknown, negated", "!(eth.tx.value != 5)", UNKNOWN, True),
    ("a value of another type", "eth.tx.value > 5", {"eth": {"tx": {"value": "6"}}}, True),
    ("unknown, but false", "eth.tx.value > 5 && false", UNKNOWN, False),
    ("too costly", COSTLY, {"wallets": MANY}, True),
    ("cheap enough", COSTLY, {"wallets": MANY[:1] * 3}, True),
    ("no longer compiles", "wallet.gone == 1", {}, True),
]


@pytest.mark.parametrize(
    ("condition", "values", "holds"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_enforced(condition: str, values: Mapping[str, Any], holds: bool) -> None:
    assert enforced(user_with(condition), [values]) == ([0] if holds else [])


@pytest.mark.parametrize(
    ("wallets", "orders"), [("W", [1]), ("V", [0]), ("VW", [0, 1]), ("WVWV", [0, 1]), ("U", [2]), ("UV", [0, 2])]
)
def test_the_lowest_order_whose_condition_holds_for_each_item(wallets: str, orders: list[int]) -> None:
    user = user_with("wallet.id == 'V'", "wallet.id == 'W'", "")
    assert enforced(user, [{"wallet": {"id": id_}} for id_ in wallets]) == orders


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("eth.tx.value > 5", True),
        ("activity.kind == 'SIGN_TRANSACTION'", True),
        ("eth.eip_712.primary_type == 'Permit'", False),
        ("wallet.id == 'V'", False),
        ("wallet.gone == 1", True),
    ],
)
def test_a_payload_that_may_be_a_transaction(condition: str, *, holds: bool) -> None:
    values = {"wallet": {"id": "W"}, "activity": {"kind": "SIGN_RAW_PAYLOAD"}}
    assert enforced(user_with(condition), [values], may_be_transaction=True) == ([0] if holds else [])


@pytest.mark.parametrize(
    ("conditions", "items"), [(2, 1), (300, 1), (3_000, 1), (10, 100), (10_001, 1), (200, 100)]
)
def test_conditions_and_items_share_the_steps(conditions: int, items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []

    def counted(self: Expression, context: EvaluationContext, budget: Budget, steps_max: int) -> object:
        given.append(steps_max)
        return evaluate(self, context, budget, steps_max)

    evaluate = Expression.evaluate
    monkeypatch.setattr(Expression, "evaluate", counted)
    expression, texts = compile_stored(mfa_condition_source("wallet.id == 'W'")), list(map(str, range(conditions)))
    found = MfaConditions(dict.fromkeys(texts, expression), [{"wallet": {"id": "V"}}] * items)
    for _ in range(2):
        where = {found.where(text) for text in texts}
    assert sum(given) <= STEPS_MAX
    if conditions * items > STEPS_MAX // 10:
        assert (where, given) == ({found.everywhere}, [])
    else:
        assert (where, len(given)) == ({0}, conditions * items)


def test_conditions_beyond_a_number_of_characters_hold() -> None:
    long = [f"wallet.id == '{number:010}{'x' * 9_000}'" for number in range(30)]
    users = [user_with("", text, "wallet.id == 'V'") for text in long]
    texts = evaluated_conditions(users)
    assert (texts[0], texts[1]) == (long[0], "wallet.id == 'V'")
    assert MFA_CHARACTERS_MAX - 10_000 < sum(map(len, texts)) <= MFA_CHARACTERS_MAX
    conditions = MfaConditions(compiled(*texts), [{"wallet": {"id": "W"}}])
    assert [conditions.where(text) for text in long] == [0] * (len(texts) - 1) + [1] * (31 - len(texts))
