"""Reading PSBTs: a PSBT that could be read in two ways is refused; what policies see of any other."""

from __future__ import annotations

from typing import Any

import pytest
from btclib.script.script_pub_key import ScriptPubKey
from btclib.tx.out_point import OutPoint
from btclib.tx.tx import Tx
from btclib.tx.tx_in import TxIn
from btclib.tx.tx_out import TxOut
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.errors import InvalidRequest
from keystead.chains.bitcoin.transaction import parse_bitcoin
from keystead.chains.bounds import PSBT_BYTES_MAX
from keystead.chains.transaction import Party
from tests.chains.bitcoin.psbts import (
    KEY,
    KINDS,
    NETWORKS,
    OTHER_KEY,
    Record,
    Spent,
    bitcoin_party,
    compact,
    key_of,
    paying,
    psbt,
    records,
    script_for,
    signed,
    transaction,
    unsigned_psbt,
)
from tests.chains.signing_vectors import TRANSACTIONS, account, party
from tests.support.examples import examples
from tests.support.facts import readable
from tests.support.hanging import not_hanging

SIGNER = bitcoin_party("P2WPKH")
SPENT = Spent("P2WPKH")
TX = transaction([SPENT], paying(90_000)).serialize(include_witness=False)
GOOD = psbt(TX, [SPENT.records], 1)
FOREIGN = Spent("P2PKH", private=OTHER_KEY)
BOTH = transaction([FOREIGN, SPENT], paying(1)).serialize(include_witness=False)


def given_tx(tx: bytes, *, outputs: int = 1) -> bytes:
    return psbt(tx, [SPENT.records], outputs)


def foreign(*utxo_records: Record) -> bytes:
    """A PSBT with an input of somebody else, which has these records, and then the valid input."""
    return psbt(BOTH, [utxo_records, SPENT.records], 1)


PREVIOUS = FOREIGN.funding.serialize(include_witness=True)
INPUT, OUTPUT = TX[5:46], TX[47:-4]
MARKED = TX[:4] + b"\0\x01" + TX[4:-4] + b"\0" + TX[-4:]

REFUSED = [
    ("nothing", b"", "not a PSBT"),
    ("another magic", b"psbt\0" + GOOD[5:], "not a PSBT"),
    ("base 64", b"cHNidP8", "not a PSBT"),
    ("only the magic", GOOD[:5], "the PSBT: it ends"),
    ("a trailing byte", GOOD + b"\0", "1 bytes after its end"),
    ("a missing byte", GOOD[:-1], "the PSBT: it ends"),
    ("a map too few", GOOD[:-2], "the PSBT: it ends"),
    ("a length not in its shortest form", GOOD[:5] + b"\xfd\x01\0" + GOOD[6:], "not in its shortest form"),
    ("a length beyond the end", GOOD[:5] + b"\xff" + b"\xff" * 8 + GOOD[6:], "more bytes are expected"),
    ("no transaction", b"psbt\xff" + records((b"\xfc\x01", b"")), "no unsigned transaction"),
    ("two transactions", psbt(TX, [SPENT.records], 1, extra=[(b"\0", TX)]), "the key 00 occurs twice"),
    ("version 2", psbt(TX, [SPENT.records], 1, extra=[(b"\xfb", b"\x02\0\0\0")]), "only version 0"),
    (
        "a global field of version 2",
        psbt(TX, [SPENT.records], 1, extra=[(b"\x02", b"\x02\0\0\0")]),
        "only version 0",
    ),
    ("an input's field of version 2", psbt(TX, [[*SPENT.records, (b"\x0f", b"")]], 1), "input 0: field 0x0f"),
    (
        "an output's field of version 2",
        GOOD[:-1] + records((b"\x03", b"")),
        "output 0: field 0x03",
    ),
    ("a key twice", psbt(TX, [[*SPENT.records, *SPENT.records]], 1), "input 0: the key 00 occurs twice"),
    (
        "key data where there is none",
        psbt(TX, [[*SPENT.records, (b"\x03\0", b"")]], 1),
        "sighash_type has key data",
    ),
    ("a signature of no key", psbt(TX, [[*SPENT.records, (b"\x02\x02", b"")]], 1), "not a public key"),
    ("a transaction cut short", given_tx(TX[:-1]), "the unsigned transaction: it ends"),
    ("a transaction with more behind it", given_tx(TX + b"\0"), "the unsigned transaction: 1 bytes after"),
    ("a transaction with witnesses", given_tx(MARKED), "the unsigned transaction: it has no inputs; or"),
    ("a script filled in", given_tx(TX[:41] + b"\x01\x51" + TX[42:]), "script of input 0 is not empty"),
    ("no inputs", psbt(TX[:4] + b"\0" + TX[46:], [], 1), "no inputs"),
    ("no outputs", given_tx(TX[:46] + b"\0" + TX[-4:], outputs=0), "no outputs"),
    (
        "an output spent twice",
        psbt(TX[:4] + b"\x02" + INPUT * 2 + TX[46:], [SPENT.records] * 2, 1),
        "spend the same output",
    ),
    (
        "more than all coins",
        given_tx(TX[:47] + (21 * 10**14 + 1).to_bytes(8, "little") + TX[55:]),
        "at most 2100000000000000 exist",
    ),
    (
        "a transaction too large",
        given_tx(TX[:46] + compact(4000) + OUTPUT * 4000 + TX[-4:], outputs=4000),
        "at most 100000",
    ),
    ("outputs above inputs", unsigned_psbt([SPENT], paying(100_001)), "exceed its inputs by 1 satoshis"),
    ("an unknown amount", foreign(), "input 0: neither"),
    (
        "a witness_utxo cut short",
        foreign((b"\x01", FOREIGN.output.serialize()[:-1])),
        "input 0: witness_utxo: it ends",
    ),
    ("more behind a witness_utxo", foreign((b"\x01", FOREIGN.output.serialize() + b"\0")), "witness_utxo: 1 bytes"),
    ("another transaction than is spent", foreign((b"\0", PREVIOUS[:-1] + b"\x01")), "but the input spends"),
    ("more behind a previous transaction", foreign((b"\0", PREVIOUS + b"\0")), "non_witness_utxo: 1 bytes after"),
    (
        "witnesses announced and not given",
        foreign((b"\0", PREVIOUS[:4] + b"\0\x01" + PREVIOUS[4:-4] + b"\0" + PREVIOUS[-4:])),
        "has none",
    ),
    (
        "amounts that differ",
        foreign((b"\0", PREVIOUS), (b"\x01", TxOut(1, FOREIGN.output.script_pub_key).serialize())),
        "contradict each other",
    ),
]


@pytest.mark.parametrize(("unsigned", "why"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(unsigned: bytes, why: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^failed to parse transaction: .*({why})") as refused:
        parse_bitcoin(unsigned, SIGNER)
    assert refused.value.machine_code == "INVALID_TRANSACTION"


def test_an_output_that_the_previous_transaction_does_not_have() -> None:
    beyond = BOTH[:37] + b"\x02" + BOTH[38:]
    with pytest.raises(InvalidRequest, match="input 0: it spends output 2 of a transaction that has 2 outputs"):
        parse_bitcoin(psbt(beyond, [[(b"\0", PREVIOUS)], SPENT.records], 1), SIGNER)


def test_the_psbts_of_the_refusals_are_good_themselves() -> None:
    assert parse_bitcoin(GOOD, SIGNER).messages
    assert parse_bitcoin(foreign((b"\0", PREVIOUS)), SIGNER).messages


OUTSIDERS: list[tuple[str, Party, str]] = [
    ("a key of another curve", party("CURVE_P256", "01" * 32), "CURVE_SECP256K1"),
    ("a private key by its id", party("CURVE_SECP256K1", "01" * 32), "not with the id of a private key"),
    (
        "an address of another chain",
        party("CURVE_SECP256K1", "01" * 32, "ADDRESS_FORMAT_ETHEREUM", "0x"),
        "not with ADDRESS_FORMAT_ETHEREUM",
    ),
    ("an account without inputs", bitcoin_party("P2TR"), "no input of bc1p"),
    ("another account of the kind", bitcoin_party("P2WPKH", private=OTHER_KEY), "no input of bc1q"),
]


@pytest.mark.parametrize(("signer", "why"), [row[1:] for row in OUTSIDERS], ids=[row[0] for row in OUTSIDERS])
def test_who_cannot_sign(signer: Party, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        parse_bitcoin(GOOD, signer)


# Policy facts


def facts(unsigned: bytes, signer: Party = SIGNER) -> dict[str, Any]:
    tx: dict[str, Any] = parse_bitcoin(unsigned, signer).describe({}).keywords["bitcoin"]["tx"]
    return tx


def test_facts_of_a_vector() -> None:
    vector = next(row for row in TRANSACTIONS["TRANSACTION_TYPE_BITCOIN"] if row["id"] == "p2tr-key-path")
    tx = facts(bytes.fromhex(vector["unsignedTransaction"]), account(vector["signWith"])[1])
    assert tx == {
        "version": "2",
        "inputs": [{"tx_id": "02" * 32, "vout": 1, "sequence": 0xFFFFFFFF}],
        "outputs": [
            {
                "value": 90_000,
                "script_pubkey": "0014c0cebcd6c3d3ca8c75dc5ec62ebe55330ef910e2",
                "address": "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
                "address_type": "p2wpkh",
            }
        ],
        "locktime": {"amount": 0, "type": "Blocks"},
        "fee": 10_000,
        "movements": [
            {
                "kind": "TRANSFER",
                "name": "output",
                "contract": "",
                "asset": "NATIVE",
                "from": vector["signWith"],
                "to": "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
                "amount": 90_000,
            }
        ],
    }


def test_transaction_ids_are_shown_as_explorers_do() -> None:
    assert facts(GOOD)["inputs"] == [{"tx_id": SPENT.funding.id.hex(), "vout": 1, "sequence": 0xFFFFFFFD}]


@pytest.mark.parametrize(
    ("locktime", "kind"), [(0, "Blocks"), (499_999_999, "Blocks"), (500_000_000, "Seconds"), (2**32 - 1, "Seconds")]
)
def test_locktimes(locktime: int, kind: str) -> None:
    tx = facts(unsigned_psbt([SPENT], paying(1), version=1, locktime=locktime))
    assert (tx["version"], tx["locktime"]) == ("1", {"amount": locktime, "type": kind})


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_addresses_of_outputs(kind: str, network: str) -> None:
    script = script_for(kind, key_of(OTHER_KEY))
    (output,) = facts(unsigned_psbt([SPENT], [TxOut(1, script)]), bitcoin_party("P2WPKH", network))["outputs"]
    assert output == {
        "value": 1,
        "script_pubkey": script.hex(),
        "address": ScriptPubKey(script, network=NETWORKS[network]).address,
        "address_type": kind.lower(),
    }


NO_ADDRESS = {
    "data": "6a0568656c6c6f",
    "a bare key": "21" + "02" * 33 + "ac",
    "empty": "",
    "version 0 of another length": "0015" + "00" * 21,
    "a program of one byte": "510100",
    "a program too long": "5129" + "00" * 41,
    "a push that is not all": "511400",
}


@pytest.mark.parametrize("script", NO_ADDRESS.values(), ids=NO_ADDRESS)
def test_outputs_without_an_address(script: str) -> None:
    (output,) = facts(unsigned_psbt([SPENT], [TxOut(1, script)]))["outputs"]
    assert readable(output) == {"value": 1, "script_pubkey": script}


@settings(max_examples=40)
@given(st.integers(1, 16), st.binary(min_size=2, max_size=40))
def test_addresses_of_witness_programs_of_the_future(version: int, program: bytes) -> None:
    script = bytes([0x50 + version, len(program)]) + program
    (output,) = facts(unsigned_psbt([SPENT], [TxOut(1, script)]))["outputs"]
    assert output["address"] == ScriptPubKey(script).address


# Whatever comes

MUTATED = [
    *(
        (row["unsignedTransaction"], account(row["signWith"])[1])
        for row in TRANSACTIONS["TRANSACTION_TYPE_BITCOIN"]
    ),
    *((unsigned_psbt([Spent(kind), FOREIGN], paying(1)).hex(), bitcoin_party(kind)) for kind in KINDS),
]


@settings(max_examples=examples(100))
@given(st.sampled_from(MUTATED), st.data())
def test_altered_bytes_are_refused_or_kept(row: tuple[str, Party], data: st.DataObject) -> None:
    altered = bytearray.fromhex(row[0])
    for _ in range(data.draw(st.integers(1, 3))):
        altered[data.draw(st.integers(0, len(altered) - 1))] = data.draw(st.integers(0, 255))
    unsigned = bytes(altered[: data.draw(st.sampled_from([None, None, -1, 60]))])
    try:
        parsed = parse_bitcoin(unsigned, row[1])
        parsed.describe({})
    except InvalidRequest as refused:
        assert refused.machine_code == "INVALID_TRANSACTION"
        return
    assert len(parsed.assemble(signed(parsed))) > len(unsigned)


def test_the_largest_psbts_are_read() -> None:
    """Half a megabyte: as many own inputs, records, outputs as fit."""
    own = script_for("P2TR", key_of(KEY))
    count = 2400
    inputs = b"".join(number.to_bytes(36, "little") + b"\0" + bytes(4) for number in range(count))
    tx = b"\x02\0\0\0" + compact(count) + inputs + b"\x01" + TxOut(1, own).serialize() + bytes(4)
    crowded = psbt(tx, [[(b"\x01", TxOut(1000, own).serialize())]] * count, 1)
    cluttered = psbt(TX, [[*SPENT.records, *((b"\xfc" + at.to_bytes(4), b"") for at in range(70_000))]], 1)
    rich = Spent("P2WPKH", satoshis=3000 * 90_000)
    spends = transaction([rich], paying(1)).serialize(include_witness=False)[4:46]
    outputs = b"\x02\0\0\0" + spends + compact(3000) + OUTPUT * 3000 + bytes(4)
    with not_hanging():
        assert len(parse_bitcoin(crowded, bitcoin_party("P2TR")).messages) == count
        assert parse_bitcoin(cluttered, SIGNER).messages
        assert len(facts(psbt(outputs, [rich.records], 3000))["outputs"]) == 3000
    with pytest.raises(InvalidRequest, match="a PSBT has at most 500000"):
        parse_bitcoin(cluttered + bytes(PSBT_BYTES_MAX), SIGNER)


@pytest.mark.parametrize("count", [675, 900])
def test_legacy_inputs_are_hashed_within_a_budget(count: int) -> None:
    """The digest of each is over the whole transaction."""
    output = TxOut(1000, script_for("P2PKH", key_of(KEY)))
    fundings = [Tx(2, 0, [TxIn(OutPoint(b"\x07" * 32, number))], [output]) for number in range(count)]
    spending = Tx(2, 0, [TxIn(OutPoint(funding.id, 0)) for funding in fundings], paying(1))
    input_records = [[(b"\0", funding.serialize(include_witness=True))] for funding in fundings]
    unsigned = psbt(spending.serialize(include_witness=False), input_records, 1)
    if count == 675:
        assert len(parse_bitcoin(unsigned, bitcoin_party("P2PKH")).messages) == count
    else:
        with pytest.raises(InvalidRequest, match=r"900 inputs of P2PKH .* too many to sign at once"):
            parse_bitcoin(unsigned, bitcoin_party("P2PKH"))
