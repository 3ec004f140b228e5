"""Which MFA policy of a user is enforced: what its condition reads, and what it cannot read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from keystead.api.records import MfaPolicy, Timestamp, User
from keystead.pipeline.mfa import enforced_policy
from keystead.policies.expression import compile_stored
from keystead.policies.policy import mfa_condition_source
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


CASES: list[tuple[str, str, Mapping[str, Any], bool, bool]] = [
    ("no condition", "", {}, False, True),
    ("true", "wallet.id == 'W'", {"wallet": {"id": "W"}}, False, True),
    ("false", "wallet.id == 'W'", {"wallet": {"id": "V"}}, False, False),
    ("absent", "wallet.id == 'W'", {}, False, False),
    ("absent, after a call that does not decode", "wallet.id == 'W'", {}, True, True),
    ("a value of another type", "eth.tx.value > 5", {"eth": {"tx": {"value": "6"}}}, False, True),
    ("of another type, but false", "eth.tx.value > 5 && false", {"eth": {"tx": {"value": "6"}}}, False, False),
    ("too costly", COSTLY, {"wallets": MANY}, False, True),
    ("cheap enough", COSTLY, {"wallets": MANY[:1] * 3}, False, True),
    ("no longer compiles", "wallet.gone == 1", {}, False, True),
]


@pytest.mark.parametrize(
    ("condition", "values", "unreadable", "holds"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_enforced(condition: str, values: Mapping[str, Any], unreadable: bool, holds: bool) -> None:
    conditions = {condition: compile_stored(mfa_condition_source(condition))}
    found = enforced_policy(
        user_with(condition), conditions, values, has_unreadable_call=unreadable, may_be_transaction=False
    )
    assert (found is not None) is holds


def test_the_lowest_order_whose_condition_holds() -> None:
    texts = ("wallet.id == 'V'", "wallet.id == 'W'", "")
    conditions = {text: compile_stored(mfa_condition_source(text)) for text in texts if text}
    values = {"wallet": {"id": "W"}}
    found = enforced_policy(
        user_with(*texts), conditions, values, has_unreadable_call=False, may_be_transaction=False
    )
    assert found is not None
    assert found.order == 1


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
    conditions = {condition: compile_stored(mfa_condition_source(condition))}
    values = {"wallet": {"id": "W"}, "activity": {"kind": "SIGN_RAW_PAYLOAD"}}
    found = enforced_policy(
        user_with(condition), conditions, values, has_unreadable_call=False, may_be_transaction=True
    )
    assert (found is not None) is holds
