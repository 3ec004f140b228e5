"""What Tron's contracts move: every type that is signed, and the calls of smart contracts."""

from __future__ import annotations

import pytest

from keystead.chains.movements import MovementKind
from keystead.chains.tron import movements as table
from keystead.chains.tron.transaction import _CONTRACT_TYPES, parse_tron
from tests.chains.ethereum.movers import shown
from tests.chains.signing_vectors import account
from tests.chains.tron.movers import MOVERS, NUMBERS, call, raw

_, SIGNER = account("0x9858EfFD232B4033E47d90003D41EC34EcaEda94")


@pytest.mark.parametrize("name", MOVERS)
def test_what_a_contract_moves(name: str) -> None:
    parsed = parse_tron(MOVERS[name].unsigned, SIGNER)
    seen = parsed.describe({}).keywords["tron"]["tx"]["movements"]
    assert [shown(each) for each in seen] == MOVERS[name].moves
    assert [shown(each) for each in parsed.movements if each.kind is not MovementKind.FEE] == MOVERS[name].moves


def test_every_type_that_is_signed_has_an_example() -> None:
    assert set(_CONTRACT_TYPES.values()) == set(table._MOVEMENTS) == set(NUMBERS)
    assert all(any(name.startswith(kind) for name in MOVERS) for kind in NUMBERS)


def test_a_permission_without_keys() -> None:
    """Nobody controls the account from then on."""
    (changed, _) = parse_tron(raw("AccountPermissionUpdateContract"), SIGNER).movements
    assert (changed.kind, changed.to) == (MovementKind.AUTHORITY, "")


def test_the_fee_is_the_limit_that_the_transaction_names() -> None:
    *_, fee = parse_tron(call(b"", fee_limit=30_000_000), SIGNER).movements
    assert (fee.kind, fee.amount) == (MovementKind.FEE, 30_000_000)
