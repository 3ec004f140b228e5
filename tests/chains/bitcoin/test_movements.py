"""What a Bitcoin transaction moves: outputs without change, and the fee."""

from __future__ import annotations

from typing import Any

import pytest
from btclib.script.script_pub_key import ScriptPubKey
from btclib.tx.tx_out import TxOut

from keystead.chains.bitcoin.transaction import parse_bitcoin, view_bitcoin
from keystead.chains.movements import MovementKind
from keystead.chains.transaction import Party
from keystead.primitives.unreadable import Unreadable
from tests.chains.bitcoin.psbts import (
    KEY,
    KINDS,
    OTHER_KEY,
    Spent,
    bitcoin_party,
    key_of,
    multisig,
    script_for,
    single,
    unsigned_psbt,
)
from tests.chains.ethereum.movers import ANY, shown

MINE, THEIRS = (script_for("P2WPKH", key_of(key)) for key in (KEY, OTHER_KEY))
ME, THEM = (ScriptPubKey(script).address for script in (MINE, THEIRS))
SIGNER = bitcoin_party("P2WPKH")
ELSEWHERE = ScriptPubKey(script_for("P2PKH", key_of(KEY))).address
RETURN = b"\x6a\x02hi"


def movements(spent: list[Spent], *outputs: TxOut, signer: Party = SIGNER) -> list[tuple[str, str, str, str, Any]]:
    parsed = parse_bitcoin(unsigned_psbt(spent, list(outputs)), signer)
    seen = parsed.describe({}).keywords["bitcoin"]["tx"]
    *paid, fee = [shown(each) for each in parsed.movements]
    assert [shown(each) for each in seen["movements"]] == paid
    assert fee[0] == "FEE"
    assert fee[-1] == (ANY if isinstance(seen["fee"], Unreadable) else seen["fee"])
    return paid


@pytest.mark.parametrize(
    ("outputs", "paid"),
    [
        ([TxOut(90_000, THEIRS)], [(THEM, 90_000)]),
        ([TxOut(50_000, THEIRS), TxOut(40_000, MINE)], [(THEM, 50_000)]),
        ([TxOut(50_000, THEIRS), TxOut(40_000, THEIRS)], [(THEM, 50_000), (THEM, 40_000)]),
        ([TxOut(90_000, MINE)], []),
        ([TxOut(90_000, MINE), TxOut(0, RETURN)], []),
        ([TxOut(90_000, RETURN)], [(RETURN.hex(), 90_000)]),
        ([TxOut(90_000, script_for("P2PKH", key_of(KEY)))], [(ELSEWHERE, 90_000)]),
    ],
    ids=["one", "change", "two", "to itself", "a note", "burned", "the same key by another script"],
)
def test_outputs(outputs: list[TxOut], paid: list[tuple[str, int]]) -> None:
    assert movements([Spent("P2WPKH")], *outputs) == [("TRANSFER", "NATIVE", ME, to, amount) for to, amount in paid]


@pytest.mark.parametrize("kind", KINDS)
def test_change_goes_back_to_the_address_that_signs(kind: str) -> None:
    own = script_for(kind, key_of(KEY), script=single(key_of(KEY)))
    spent = Spent(kind, script=single(key_of(KEY)))
    assert movements([spent], TxOut(90_000, own), signer=bitcoin_party(kind)) == []


@pytest.mark.parametrize("kind", ["P2SH", "P2WSH"])
def test_a_script_that_somebody_else_can_spend_is_no_change(kind: str) -> None:
    """It has the key of the account, so the account signs the input. Others may have a key in it, too."""
    shared = script_for(kind, key_of(KEY), script=multisig(key_of(KEY), key_of(OTHER_KEY)))
    spent = [Spent(kind, script=single(key_of(KEY))), Spent(kind, satoshis=1_000)]
    (moved,) = movements(spent, TxOut(90_000, shared), signer=bitcoin_party(kind))
    assert moved == ("TRANSFER", "NATIVE", ANY, ScriptPubKey(shared).address, 90_000)


def test_what_pays_back_to_somebody_elses_input_is_no_change() -> None:
    spent = [Spent("P2WPKH"), Spent("P2WPKH", private=OTHER_KEY)]
    assert movements(spent, TxOut(190_000, THEIRS)) == [("TRANSFER", "NATIVE", ANY, THEM, 190_000)]


def test_the_fee() -> None:
    parsed = parse_bitcoin(unsigned_psbt([Spent("P2WPKH")], [TxOut(90_000, THEIRS)]), SIGNER)
    fee = parsed.movements[-1]
    assert (fee.kind, shown(fee)) == (MovementKind.FEE, ("FEE", "NATIVE", ME, "", 10_000))


def test_people_see_the_same_change() -> None:
    unsigned = unsigned_psbt([Spent("P2WPKH")], [TxOut(50_000, THEIRS), TxOut(40_000, MINE)])
    assert SIGNER.address is not None
    assert view_bitcoin(unsigned, SIGNER.address).movements == parse_bitcoin(unsigned, SIGNER).movements
