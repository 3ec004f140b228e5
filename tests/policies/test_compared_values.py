"""The values of a request that a condition compares."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.policies.bounds import COMPARED_VALUES_SHOWN_MAX
from keystead.policies.compared_values import compared_values

VALUES = {
    "activity": {"kind": "SIGN_TRANSACTION", "params": {"type": "T"}},
    "eth": {"tx": {"to": "0xab", "value": 5, "contract_call_args": {"wad": 7}}},
    "solana": {
        "tx": {"transfers": [{"to": "Bob", "amount": 1}, {"to": "Cy", "amount": 2}], "account_keys": ["A", "B"]}
    },
}


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("eth.tx.to == '0xab' && eth.tx.value <= 5", {"eth.tx.to": ("0xab",), "eth.tx.value": (5,)}),
        (
            "!(5 < eth.tx.value) || activity.kind in ['A']",
            {"eth.tx.value": (5,), "activity.kind": ("SIGN_TRANSACTION",)},
        ),
        ("solana.tx.transfers.all(t, t.to == 'Bob')", {"solana.tx.transfers[].to": ("Bob", "Cy")}),
        ("solana.tx.transfers[0].amount < 3", {"solana.tx.transfers[].amount": (1, 2)}),
        ("solana.tx.account_keys.contains('A')", {"solana.tx.account_keys": ("A", "B")}),
        ("'A' in solana.tx.account_keys", {"solana.tx.account_keys": ("A", "B")}),
        ("wallet.id == 'x'", {"wallet.id": ()}),
        ("true", {}),
        ("no longer compiles", {}),
    ],
)
def test_values(condition: str, found: dict[str, Any]) -> None:
    assert compared_values(condition, VALUES) == found


def test_bounded() -> None:
    many = {"solana": {"tx": {"account_keys": [str(number) for number in range(1_000)]}}}
    (values,) = compared_values("solana.tx.account_keys.contains('A')", many).values()
    assert len(values) == COMPARED_VALUES_SHOWN_MAX
