"""Bitcoin: the vectors, the rules for own inputs, what policies see; judged by btclib's script engine."""

from __future__ import annotations

from typing import Any

import pytest
from btclib.exceptions import BTClibValueError
from btclib.key import PubKeyData
from btclib.script.script_pub_key import ScriptPubKey
from btclib.tx.tx_out import TxOut
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.addresses.formats import address
from keystead.chains.bitcoin.transaction import parse_bitcoin
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.keys.public_keys import public_key
from keystead.primitives.unreadable import known
from tests.chains.bitcoin.psbts import (
    KEY,
    KINDS,
    OTHER_KEY,
    Record,
    Spent,
    bitcoin_party,
    key_of,
    multisig,
    paying,
    psbt,
    read_maps,
    script_for,
    signed,
    single,
    string,
    transaction,
    unsigned_psbt,
    verify,
)
from tests.chains.signing_vectors import CLAIMED_AMOUNTS, TRANSACTIONS, account
from tests.support import secp256k1

VECTORS = TRANSACTIONS["TRANSACTION_TYPE_BITCOIN"]


@pytest.mark.parametrize("vector", CLAIMED_AMOUNTS, ids=lambda vector: vector["id"])
def test_a_claimed_amount_is_not_signed(vector: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="input 0: it spends P2WPKH and needs non_witness_utxo"):
        parse_bitcoin(bytes.fromhex(vector["unsignedTransaction"]), account(vector["signWith"])[1])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vector(vector: dict[str, Any]) -> None:
    private_key, signer = account(vector["signWith"])
    parsed = parse_bitcoin(bytes.fromhex(vector["unsignedTransaction"]), signer)
    if parsed.scheme is SignatureScheme.SCHNORR_KEY_PATH:
        # The vector's own signature, for Schnorr's are random: it must verify, and be where the vector has it.
        raw = bytes.fromhex(vector["tapKeySig"])
        assert secp256k1.verifies_schnorr(bytes.fromhex(vector["xOnlyOutputKey"]), raw, parsed.messages[0])
        signatures: tuple[Signature, ...] = (Signature(raw[:32], raw[32:], 0),)
    else:
        signatures = signed(parsed, private_key)
    assert parsed.assemble(signatures).hex() == vector["signedTransaction"]


SINGLE = single(key_of(KEY))


def address_of(spent: Spent) -> str:
    return ScriptPubKey(spent.output.script_pub_key.script).address


# Signed inputs are spent by btclib's engine


@pytest.mark.parametrize("kind", KINDS)
def test_own_inputs_of_every_kind_can_be_spent(kind: str) -> None:
    spent = [Spent(kind), Spent(kind, 50_000, extra=[(b"\xfc\x01", b"x")]), Spent(kind, extra=[(b"\xfc\x02", b"")])]
    outputs = paying(150_000, 90_000)
    parsed = parse_bitcoin(unsigned_psbt(spent, outputs), bitcoin_party(kind))
    assert parsed.scheme is (SignatureScheme.SCHNORR_KEY_PATH if kind == "P2TR" else SignatureScheme.ECDSA)
    assert len(parsed.messages) == 3
    verify(parsed.assemble(signed(parsed)), spent, transaction(spent, outputs))


@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_would_notice(kind: str) -> None:
    """A signature over anything else is refused by the judge of the tests above."""
    spent, outputs = [Spent(kind)], paying(90_000)
    parsed = parse_bitcoin(unsigned_psbt(spent, outputs), bitcoin_party(kind))
    altered = transaction(spent, paying(90_001))
    with pytest.raises(BTClibValueError):
        verify(parsed.assemble(signed(parsed)), spent, altered)


@settings(max_examples=30)
@given(st.data())
def test_everyone_signs_their_own_inputs_of_a_shared_transaction(data: st.DataObject) -> None:
    draw = data.draw
    spent = [
        Spent(
            draw(st.sampled_from(KINDS)),
            draw(st.integers(1, 2**40)),
            draw(st.sampled_from([KEY, OTHER_KEY])),
            extra=[(b"\xfc" + number.to_bytes(2), draw(st.binary(max_size=5)))],
            sequence=draw(st.integers(0, 2**32 - 1)),
        )
        for number in range(draw(st.integers(1, 4)))
    ]
    scripts = st.sampled_from([script_for(kind, key_of(OTHER_KEY)) for kind in KINDS]) | st.just(b"\x6a\x01x")
    total = sum(one.satoshis for one in spent)
    outputs = [TxOut(total // 4, draw(scripts)) for _ in range(draw(st.integers(1, 3)))]
    tx = transaction(spent, outputs, draw(st.integers(1, 2)), draw(st.integers(0, 2**32 - 1)))
    combined = psbt(tx.serialize(include_witness=False), [one.records for one in spent], len(outputs))
    before = {record for known in read_maps(combined) for record in known}
    for kind, private in {(one.kind, one.private) for one in spent}:
        parsed = parse_bitcoin(combined, bitcoin_party(kind, private=private))
        fee = parsed.describe({}).keywords["bitcoin"]["tx"]["fee"]
        is_proven = kind == "P2TR" or all(one.kind != "P2TR" for one in spent)
        assert known(fee) == (total - sum(output.value for output in outputs) if is_proven else None)
        signatures = signed(parsed, private)
        combined = parsed.assemble(signatures)
        again = parse_bitcoin(combined, bitcoin_party(kind, private=private))
        assert (again.messages, again.assemble(signatures)) == (parsed.messages, combined)
    assert before <= {record for known in read_maps(combined) for record in known}
    verify(combined, spent, tx)


def test_fields_of_any_meaning_survive_in_their_places() -> None:
    strange: list[Record] = [(b"\xfc\x05hello", b"\x01"), (b"\x06" + key_of(KEY), b"\xde\xad"), (b"\x99", b"")]
    spent, outputs = Spent("P2WPKH"), paying(1)
    tx = transaction([spent], outputs).serialize(include_witness=False)
    unsorted = [*strange, *spent.records]
    data = psbt(tx, [unsorted], 1, extra=[(b"\xfb", bytes(4)), (b"\xfc\x01", b"global")])
    parsed = parse_bitcoin(data, bitcoin_party("P2WPKH"))
    written = parsed.assemble(signed(parsed))
    (_, value) = next(one for one in read_maps(written)[1] if one[0] == b"\x02" + key_of(KEY))
    assert written.replace(string(b"\x02" + key_of(KEY)) + string(value), b"", 1) == data


@pytest.mark.parametrize("high", [False, True])
def test_the_lower_s_is_written(high: bool) -> None:
    spent, outputs = [Spent("P2WPKH")], paying(1)
    parsed = parse_bitcoin(unsigned_psbt(spent, outputs), bitcoin_party("P2WPKH"))
    (made,) = signed(parsed)
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    other = Signature(made.r, (order - int.from_bytes(made.s)).to_bytes(32), 1 - made.v)
    verify(parsed.assemble([other if high else made]), spent, transaction(spent, outputs))


# Whose inputs


def test_only_own_inputs_are_signed() -> None:
    spent = [Spent("P2WPKH", private=OTHER_KEY), Spent("P2WPKH"), Spent("P2PKH"), Spent("P2TR")]
    unsigned = unsigned_psbt(spent, paying(1))
    parsed = parse_bitcoin(unsigned, bitcoin_party("P2WPKH"))
    before, after = read_maps(unsigned), read_maps(parsed.assemble(signed(parsed)))
    assert [len(new) - len(old) for new, old in zip(after, before, strict=True)] == [0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("kind", ["P2SH", "P2WSH"])
def test_an_account_of_scripts_owns_its_address(kind: str) -> None:
    """The one whose script is to push its key and check the signature."""
    spent, signer = Spent(kind, script=SINGLE), bitcoin_party(kind)
    assert signer.address_format is not None
    assert address_of(spent) == address(public_key(Curve.SECP256K1, KEY), signer.address_format)
    parsed = parse_bitcoin(unsigned_psbt([spent], paying(1)), signer)
    verify(parsed.assemble(signed(parsed)), [spent], transaction([spent], paying(1)))


@pytest.mark.parametrize("kind", ["P2SH", "P2WSH"])
def test_another_script_of_the_key_by_its_hash_is_not_own(kind: str) -> None:
    hashed = Spent(kind, script=bytes(ScriptPubKey.p2pkh(PubKeyData(key_of(KEY))).script))
    with pytest.raises(InvalidRequest, match="no input of"):
        parse_bitcoin(unsigned_psbt([hashed], paying(1)), bitcoin_party(kind))


@pytest.mark.parametrize("kind", ["P2SH", "P2WSH"])
def test_a_script_without_the_key_is_not_own(kind: str) -> None:
    foreign = Spent(kind, script=multisig(key_of(OTHER_KEY)))
    parsed = parse_bitcoin(unsigned_psbt([foreign, Spent(kind)], paying(1)), bitcoin_party(kind))
    assert len(parsed.messages) == 1


# What is refused

NESTED = bytes(ScriptPubKey.p2wpkh(PubKeyData(key_of(KEY))).script)
NESTED_SCRIPT = bytes(ScriptPubKey.p2wsh(multisig(key_of(KEY))).script)
SEPARATED = b"\xab\x21" + key_of(KEY) + b"\xac"


def one(kind: str, *without: int, script: bytes | None = None, extra: tuple[Record, ...] = ()) -> bytes:
    """A PSBT of one own input: without some of its fields, and with others."""
    spent = Spent(kind, script=script)
    kept = [record for record in spent.records if record[0][0] not in without]
    return psbt(
        transaction([spent], paying(1)).serialize(include_witness=False), [sorted([*kept, *extra])], outputs=1
    )


def funding(kind: str) -> Record:
    return b"\x00", Spent(kind).funding.serialize(include_witness=True)


def witness(kind: str) -> Record:
    return b"\x01", Spent(kind).output.serialize()


def sighash(number: int) -> Record:
    return b"\x03", number.to_bytes(4, "little")


RULES: list[tuple[str, str, bytes, str]] = [
    ("P2PKH", "only a witness_utxo", one("P2PKH", 0, extra=(witness("P2PKH"),)), "needs non_witness_utxo"),
    ("P2PKH", "a witness_utxo as well", one("P2PKH", extra=(witness("P2PKH"),)), "must not have witness_utxo"),
    ("P2PKH", "a redeem_script", one("P2PKH", extra=((b"\x04", b"\x51"),)), "not signed with redeem_script"),
    ("P2PKH", "SIGHASH_NONE", one("P2PKH", extra=(sighash(2),)), "sighash type 02000000"),
    ("P2PKH", "ANYONECANPAY", one("P2PKH", extra=(sighash(0x81),)), "sighash type 81000000"),
    ("P2PKH", "finalized", one("P2PKH", extra=((b"\x07", b""),)), "not signed with final_scriptsig"),
    ("P2SH", "only a witness_utxo", one("P2SH", 0, extra=(witness("P2SH"),)), "needs non_witness_utxo"),
    ("P2SH", "a witness_utxo as well", one("P2SH", extra=(witness("P2SH"),)), "must not have witness_utxo"),
    ("P2SH", "no redeem_script", one("P2SH", 4, script=SINGLE), "needs redeem_script"),
    ("P2SH", "P2SH-P2WPKH", one("P2SH", script=NESTED), "nested in P2SH is not signed: .* P2WPKH"),
    ("P2SH", "P2SH-P2WPKH, redeem_script left out", one("P2SH", 4, script=NESTED), "needs redeem_script"),
    (
        "P2SH",
        "P2SH-P2WSH",
        one("P2SH", script=NESTED_SCRIPT, extra=((b"\x05", multisig(key_of(KEY))),)),
        "not signed with witness_script",
    ),
    ("P2SH", "SIGHASH_SINGLE", one("P2SH", extra=(sighash(3),)), "sighash type 03000000"),
    ("P2SH", "OP_CODESEPARATOR", one("P2SH", script=SEPARATED), "OP_CODESEPARATOR"),
    ("P2SH", "a script that is too long", one("P2SH", script=multisig(key_of(KEY)) + b"\x61" * 484), "521 bytes"),
    (
        "P2SH",
        "P2SH-P2WPKH with a witness_utxo",
        one("P2SH", script=NESTED, extra=((b"\x01", Spent("P2SH", script=NESTED).output.serialize()),)),
        "nested in P2SH is not signed: .* P2WPKH",
    ),
    ("P2WPKH", "only a non_witness_utxo", one("P2WPKH", 1), "spends P2WPKH and needs witness_utxo"),
    ("P2WPKH", "only a witness_utxo", one("P2WPKH", 0), "spends P2WPKH and needs non_witness_utxo"),
    ("P2WSH", "only a non_witness_utxo", one("P2WSH", 1), "spends P2WSH and needs witness_utxo"),
    ("P2WSH", "only a witness_utxo", one("P2WSH", 0), "spends P2WSH and needs non_witness_utxo"),
    (
        "P2TR",
        "only a non_witness_utxo",
        one("P2TR", 1, extra=(funding("P2TR"),)),
        "a P2TR input needs witness_utxo",
    ),
    ("P2WPKH", "a witness_script", one("P2WPKH", extra=((b"\x05", b"\x51"),)), "not signed with witness_script"),
    ("P2WPKH", "SIGHASH_DEFAULT", one("P2WPKH", extra=(sighash(0),)), "sighash type 00000000"),
    ("P2WPKH", "a sighash type of one byte", one("P2WPKH", extra=((b"\x03", b"\x01"),)), "sighash type 01;"),
    ("P2WPKH", "finalized", one("P2WPKH", extra=((b"\x08", b"\0"),)), "not signed with final_scriptwitness"),
    ("P2WSH", "no witness_script", one("P2WSH", 5, script=SINGLE), "needs witness_script"),
    ("P2WSH", "a redeem_script", one("P2WSH", extra=((b"\x04", b"\x51"),)), "not signed with redeem_script"),
    ("P2WSH", "OP_CODESEPARATOR", one("P2WSH", script=SEPARATED), "OP_CODESEPARATOR"),
    (
        "P2WSH",
        "a script that is too long",
        one("P2WSH", script=multisig(key_of(KEY)) + b"\x61" * 9_970),
        "10007 bytes",
    ),
    (
        "P2WSH",
        "another script",
        one("P2WSH", 5, script=SINGLE, extra=((b"\x05", multisig(key_of(KEY))),)),
        "not the script",
    ),
    ("P2TR", "a script of a tree", one("P2TR", extra=((b"\x15" + bytes(33), b"\xc0"),)), "with tap_leaf_script"),
    ("P2TR", "a merkle root", one("P2TR", extra=((b"\x18", bytes(32)),)), "with tap_merkle_root"),
    ("P2TR", "a script's signature", one("P2TR", extra=((b"\x14" + bytes(64), bytes(64)),)), "with tap_script_sig"),
    ("P2TR", "SIGHASH_ALL", one("P2TR", extra=(sighash(1),)), "sighash type 01000000"),
]


@pytest.mark.parametrize(
    ("kind", "unsigned", "why"), [(row[0], *row[2:]) for row in RULES], ids=[" ".join(r[:2]) for r in RULES]
)
def test_rules_for_own_inputs(kind: str, unsigned: bytes, why: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^failed to parse transaction: input 0: .*({why})") as refused:
        parse_bitcoin(unsigned, bitcoin_party(kind))
    assert refused.value.machine_code == "INVALID_TRANSACTION"


@pytest.mark.parametrize("kind", ["P2WPKH", "P2WSH", "P2TR"])
def test_both_forms_of_what_is_spent_agree(kind: str) -> None:
    """With each other and with the transaction id. Bitcoin Core writes both for a Taproot input if another input is
    not Taproot."""
    spent = Spent(kind)
    both = parse_bitcoin(one(kind, 0, extra=(funding(kind),)), bitcoin_party(kind))
    assert both.messages == parse_bitcoin(one(kind), bitcoin_party(kind)).messages
    verify(both.assemble(signed(both)), [spent], transaction([spent], paying(1)))
    other = (b"\x00", Spent(kind, satoshis=1).funding.serialize(include_witness=True))
    with pytest.raises(InvalidRequest, match="non_witness_utxo is transaction"):
        parse_bitcoin(one(kind, 0, extra=(other,)), bitcoin_party(kind))
    less = (b"\x01", TxOut(99_999, spent.output.script_pub_key).serialize())
    with pytest.raises(InvalidRequest, match="contradict each other"):
        parse_bitcoin(one(kind, 0, 1, extra=(funding(kind), less)), bitcoin_party(kind))


NESTED_INPUT = Spent(
    "P2SH", private=OTHER_KEY, script=bytes(ScriptPubKey.p2wpkh(PubKeyData(key_of(OTHER_KEY))).script)
)
FOREIGN: list[tuple[str, Spent, tuple[int, ...], tuple[Record, ...], str | None]] = [
    ("P2PKH", Spent("P2PKH", private=OTHER_KEY), (), (), None),
    (
        "P2PKH with a claimed amount",
        Spent("P2PKH", private=OTHER_KEY),
        (0,),
        (witness("P2PKH"),),
        "input 1: .* P2PKH",
    ),
    ("P2WPKH", Spent("P2WPKH", private=OTHER_KEY), (), (), None),
    (
        "P2WPKH with a claimed amount",
        Spent("P2WPKH", private=OTHER_KEY),
        (0,),
        (),
        "input 1: .* P2WPKH and needs non_",
    ),
    (
        "P2WSH with a claimed amount",
        Spent("P2WSH", private=OTHER_KEY),
        (0,),
        (),
        "input 1: .* P2WSH and needs non_",
    ),
    ("P2TR", Spent("P2TR", private=OTHER_KEY), (), (), None),
    ("SegWit nested in P2SH", NESTED_INPUT, (), (), None),
    ("the same with both", NESTED_INPUT, (), ((b"\x01", NESTED_INPUT.output.serialize()),), None),
    (
        "the same with a claimed amount",
        NESTED_INPUT,
        (0,),
        ((b"\x01", NESTED_INPUT.output.serialize()),),
        "needs non_",
    ),
]
"""An input of somebody else beside an own one: what is taken from its records, what is added, and the refusal."""


@pytest.mark.parametrize(
    ("spent", "without", "extra", "why"), [r[1:] for r in FOREIGN], ids=[r[0] for r in FOREIGN]
)
def test_inputs_of_others_show_what_they_spend(
    spent: Spent, without: tuple[int, ...], extra: tuple[Record, ...], why: str | None
) -> None:
    own = Spent("P2WPKH")
    kept = sorted([*(record for record in spent.records if record[0][0] not in without), *extra])
    tx = transaction([own, spent], paying(1)).serialize(include_witness=False)
    unsigned = psbt(tx, [own.records, kept], 1)
    if why is None:
        assert len(parse_bitcoin(unsigned, bitcoin_party("P2WPKH")).messages) == 1
    else:
        with pytest.raises(InvalidRequest, match=why):
            parse_bitcoin(unsigned, bitcoin_party("P2WPKH"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_one_sighash_type_may_be_written_out(kind: str) -> None:
    assert parse_bitcoin(one(kind, extra=(sighash(kind != "P2TR"),)), bitcoin_party(kind)).messages
