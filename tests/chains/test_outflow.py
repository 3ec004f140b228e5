"""How much leaves with a signature: over the movers of every chain, whatever can reach somebody else counts, or is
unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from keystead.chains.assets import asset_named
from keystead.chains.ethereum.transaction import parse_ethereum
from keystead.chains.movements import Movement, MovementKind
from keystead.chains.outflow import ScaledAsset, SignedMovements, outflow
from keystead.chains.solana.transaction import parse_solana
from keystead.chains.tron.transaction import parse_tron
from keystead.primitives.unreadable import Unreadable
from tests.chains.ethereum import movers as ethereum
from tests.chains.ethereum.test_ethereum import SIGNER as ETHEREUM_SIGNER
from tests.chains.ethereum.test_movements import transaction
from tests.chains.solana import movers as solana
from tests.chains.solana.test_solana import SIGNER as SOLANA_SIGNER
from tests.chains.solana.test_solana import legacy, of
from tests.chains.tron import movers as tron
from tests.chains.tron.test_movements import SIGNER as TRON_SIGNER

OVER = 10**38
CHAIN = "eip155:1"
OWN_KINDS = {"MINT", "STAKE"}
WRAPPED = "So11111111111111111111111111111111111111112"


def scaled(*names: str) -> tuple[ScaledAsset, ...]:
    return tuple(ScaledAsset(asset_named(name), 1) for name in names)


EVM = scaled(f"{CHAIN}/slip44:60", f"{CHAIN}/erc20:{ethereum.TOKEN}", f"{CHAIN}/erc20:{ethereum.OTHER_TOKEN}")
SOLANA = scaled("solana:devnet/slip44:501", f"solana:devnet/token:{solana.MINT}")
TRON = scaled(
    "tron:0x2b6653dc/slip44:195",
    *(f"tron:0x2b6653dc/trc20:{tron.tron(token)}" for token in (ethereum.TOKEN, ethereum.OTHER_TOKEN)),
)

Move = tuple[str, str, str, str, Any]


def check(
    signed: SignedMovements, assets: tuple[ScaledAsset, ...], moves: Sequence[Move], me: str, listed: set[str]
) -> None:
    found = outflow(signed, assets, OVER)
    taken = [move for move in moves if move[0] not in OWN_KINDS and move[3] != me and move[4] != 0]
    unsure = [m for m in taken if m[0] == "UNKNOWN" or m[1] == "unknown" or (m[1] in listed and m[4] == "unknown")]
    if unsure:
        assert isinstance(found, Unreadable)
        return
    assert not isinstance(found, Unreadable), found
    sure = [move for move in taken if move[1] in listed]
    least = sum(move[4] for move in sure if move[4] != ethereum.UNLIMITED)
    assert (found or 0) >= least
    assert (found or 0) >= OVER or not any(
        move[4] == ethereum.UNLIMITED and move[0] in ("ALLOWANCE", "AUTHORITY") for move in sure
    )
    assert found is None or sure


@pytest.mark.parametrize("mover", ethereum.FUNCTIONS, ids=lambda mover: mover.signature)
def test_calls_of_ethereum(mover: ethereum.Mover) -> None:
    movements = parse_ethereum(transaction(data=mover.data, value=mover.value), ETHEREUM_SIGNER).movements
    signed = SignedMovements(namespace="eip155", reference="1", own=frozenset({ethereum.ME}), movements=movements)
    listed = {"NATIVE", ethereum.TOKEN, ethereum.OTHER_TOKEN}
    check(signed, EVM, mover.moves, ethereum.ME, listed)
    assert outflow(replace(signed, reference="5"), EVM, OVER) is None
    assert outflow(replace(signed, reference=None), EVM, OVER) == outflow(signed, EVM, OVER)


@pytest.mark.parametrize("name", solana.MOVERS)
def test_instructions_of_solana(name: str) -> None:
    mover, me = solana.MOVERS[name], str(solana.ME)
    movements = parse_solana(legacy(mover.instruction), of(SOLANA_SIGNER)).movements
    signed = SignedMovements(namespace="solana", own=frozenset({me}), movements=movements)
    moves = [move for move in mover.moves if not ("CreateAccount" in name and move[0] == "AUTHORITY")]
    check(signed, SOLANA, moves, me, {"NATIVE", WRAPPED, str(solana.MINT)})


@pytest.mark.parametrize("name", tron.MOVERS)
def test_contracts_of_tron(name: str) -> None:
    mover, me = tron.MOVERS[name], tron.tron(ethereum.ME)
    movements = parse_tron(mover.unsigned, TRON_SIGNER).movements
    signed = SignedMovements(namespace="tron", own=frozenset({me}), movements=movements)
    listed = {"NATIVE", *(each.asset.address for each in TRON)}
    check(signed, TRON, mover.moves, me, listed)


NATIVE_MOVE = Movement(kind=MovementKind.TRANSFER, name="value", asset="NATIVE", from_="me", to="thief", amount=5)
FEE = replace(NATIVE_MOVE, kind=MovementKind.FEE, to="", amount=7)


@pytest.mark.parametrize(("namespace", "expected"), [("bip122", 12), ("eip155", 5), ("solana", 5), ("tron", 5)])
def test_the_fee_of_bitcoin_counts_and_no_other(namespace: str, expected: int) -> None:
    names = {
        "bip122": "bip122:000000000019d6689c085ae165831e93/slip44:0",
        "eip155": "eip155:1/slip44:60",
        "solana": "solana:x/slip44:501",
        "tron": "tron:0x2b6653dc/slip44:195",
    }
    signed = SignedMovements(namespace=namespace, movements=(NATIVE_MOVE, FEE))
    assert outflow(signed, scaled(names[namespace]), OVER) == expected


def test_wrapped_sol_counts_as_the_coin() -> None:
    move = replace(NATIVE_MOVE, asset=WRAPPED)
    for name in ("solana:x/slip44:501", f"solana:x/token:{WRAPPED}"):
        assert outflow(SignedMovements(namespace="solana", movements=(move,)), scaled(name), OVER) == 5


def test_nothing_is_known_of_what_cannot_be_read() -> None:
    unread = Unreadable("raw")
    assert outflow(SignedMovements(movements=unread), EVM, OVER) is unread


@pytest.mark.parametrize(
    "name",
    [
        "",
        "eip155:1",
        "eip155:0/slip44:60",
        "eip155:01/slip44:60",
        "eip155:1/slip44:966",
        "eip155:1/erc721:0x" + "a" * 40,
        "eip155:1/erc20:0x" + "a" * 39,
        "eip155:1/erc20:" + "a" * 40,
        "solana:x/token:0",
        "solana:x/token:1111",
        "solana:x/slip44:60",
        "tron:0x1/slip44:195",
        "tron:0x2b6653dc/trc20:TGrLpry8MNqMuMUTe2VXv5wYkRuFEsbKsF",
        "bip122:1/slip44:0",
        "cosmos:x/slip44:118",
        "eip155:1/slip44:60 ",
    ],
)
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="eip155:N/slip44:60, "):
        asset_named(name)
