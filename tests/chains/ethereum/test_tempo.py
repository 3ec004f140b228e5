"""Tempo transactions: the vectors, what policies see, what is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest
import rlp

from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.ethereum.tempo import parse_tempo
from keystead.keys.signatures import sign
from keystead.primitives.unreadable import Unreadable
from tests.chains.ethereum.test_ethereum import changed, mutated, typed
from tests.chains.signing_vectors import SIGNING, account, party
from tests.support import independent_ethereum
from tests.support.facts import as_documented, readable

ADDRESS = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
PRIVATE_KEY, SIGNER = account(ADDRESS)
TO = bytes.fromhex("70997970c51812dc3a010c7d01b50e0d17dc79c8")
VECTORS = {vector["id"]: vector for vector in SIGNING["tempoTransactions"]}
KIND = 0x76


@pytest.mark.parametrize("name", VECTORS)
def test_vector(name: str) -> None:
    vector = VECTORS[name]
    parsed = parse_tempo(bytes.fromhex(vector["unsignedTransaction"]), SIGNER)
    assert [message.hex() for message in parsed.messages] == [vector["digest"]]
    (signature,) = sign(Curve.SECP256K1, PRIVATE_KEY, parsed.scheme, parsed.messages, public_key=SIGNER.compressed)
    made = parsed.assemble([signature])
    if "signedTransaction" in vector:
        assert made.hex() == vector["signedTransaction"]
    written = list(rlp.decode(made[1:]))
    assert written[:-1] == list(rlp.decode(bytes.fromhex(vector["unsignedTransaction"])[1:]))
    assert independent_ethereum.Account._recover_hash(parsed.messages[0], signature=written[-1]) == ADDRESS


def test_facts() -> None:
    vector = VECTORS["tempo-two-calls-fee-token"]
    found = parse_tempo(bytes.fromhex(vector["unsignedTransaction"]), SIGNER).describe({}).keywords["tempo"]["tx"]
    assert as_documented(found["valid_after"]) == 0
    assert found.pop("movements") == [
        {
            "kind": "UNKNOWN",
            "name": "0x01",
            "contract": "0x" + TO.hex(),
            "asset": Unreadable("contracts of the network take tokens without an allowance"),
            "from": ADDRESS.lower(),
            "to": Unreadable("the code of the contract decides"),
            "amount": Unreadable("the code of the contract decides"),
        },
        {
            "kind": "TRANSFER",
            "name": "value",
            "contract": "",
            "asset": "NATIVE",
            "from": ADDRESS.lower(),
            "to": "0x20c0000000000000000000000000000000000000",
            "amount": 5,
        },
    ]
    assert readable(found) == {
        "chain_id": 42431,
        "nonce": 2,
        "gas_limit": 200_000,
        "max_fee_per_gas": 20_000_000_000,
        "max_priority_fee_per_gas": 1,
        "valid_before": 1_900_000_000,
        "from": ADDRESS.lower(),
        "fee_token": "0x20c0000000000000000000000000000000000001",
        "calls": [
            {"to": "0x" + TO.hex(), "input": "0x01"},
            {"to": "0x20c0000000000000000000000000000000000000", "input": "0x"},
        ],
        "fee": 4_000,
    }


def test_a_call_that_creates_a_contract_and_one_that_names_a_function() -> None:
    calls = [[b"", b"", b"\x60\x01"], [TO, b"", bytes.fromhex("a9059cbb00")]]
    found = parse_tempo(typed(KIND, changed(PLAIN, 4, calls)), SIGNER).describe({}).keywords["tempo"]["tx"]
    assert as_documented(found["fee_token"]) == ""
    assert [(as_documented(call["to"]), as_documented(call["function_signature"])) for call in found["calls"]] == [
        ("", ""),
        ("0x" + TO.hex(), "0xa9059cbb"),
    ]


PLAIN: list[Any] = [
    b"\x01",
    b"\x01",
    b"\x02",
    b"\x52\x08",
    [[TO, b"", b""]],
    [],
    b"",
    b"\x01",
    b"",
    b"",
    b"",
    b"",
    [],
]
SIGNATURE = b"\x01" * 65

REFUSED = [
    ("nothing", b"", "0x76"),
    ("a transaction of Ethereum", typed(2, PLAIN), "0x76"),
    ("a byte behind", typed(KIND, PLAIN) + b"\0", "follow"),
    ("signed already", typed(KIND, [*PLAIN, SIGNATURE]), "14"),
    ("an item short", typed(KIND, PLAIN[:-1]), "12"),
    ("no call", typed(KIND, changed(PLAIN, 4, [])), "`calls`: it is empty"),
    ("chain 0", typed(KIND, changed(PLAIN, 0, b"")), "`chain_id`: it is zero"),
    ("no gas", typed(KIND, changed(PLAIN, 3, b"")), "`gas_limit`: it is zero"),
    ("a call of two items", typed(KIND, changed(PLAIN, 4, [[TO, b""]])), "calls[0]"),
    ("a call to 19 bytes", typed(KIND, changed(PLAIN, 4, [[TO[1:], b"", b""]])), "calls[0].to"),
    ("the fee payer has signed", typed(KIND, changed(PLAIN, 11, [b"", b"\1", b"\1"])), "fee_payer_signature"),
    ("a fee payer slot of another byte", typed(KIND, changed(PLAIN, 11, b"\1")), "fee_payer_signature"),
    ("an authorization", typed(KIND, changed(PLAIN, 12, [[b"\1", TO, b"", SIGNATURE]])), "authorization_list"),
    ("an authorization list that is a string", typed(KIND, changed(PLAIN, 12, b"")), "authorization_list"),
    ("a nonce with a zero in front", typed(KIND, changed(PLAIN, 7, b"\0\1")), "nonce"),
    ("a fee token of 21 bytes", typed(KIND, changed(PLAIN, 10, TO + b"\1")), "fee_token"),
    (
        "a priority fee above the whole",
        typed(KIND, changed(changed(PLAIN, 1, b"\2"), 2, b"\1")),
        "`max_priority_fee_per_gas`: it is above",
    ),
    (
        "an end at its beginning",
        typed(KIND, changed(changed(PLAIN, 8, b"\5"), 9, b"\5")),
        "`valid_before`: it is not after `valid_after`",
    ),
    ("a time that is a list", typed(KIND, changed(PLAIN, 8, [])), "valid_before"),
]


@pytest.mark.parametrize(("name", "unsigned", "says"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_refused(name: str, unsigned: bytes, says: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_tempo(unsigned, SIGNER)
    assert refused.value.message.startswith("failed to parse transaction: ")
    assert says in refused.value.message
    assert refused.value.machine_code == "INVALID_TRANSACTION"


def test_a_key_of_another_curve() -> None:
    with pytest.raises(InvalidRequest, match="signWith"):
        parse_tempo(typed(KIND, PLAIN), party(Curve.P256, "11" * 32))


def test_mutated_bytes_are_refused_or_mean_themselves() -> None:
    chance, accepted = random.Random(76), 0
    for vector in VECTORS.values():
        for _ in range(300):
            unsigned = mutated(bytes.fromhex(vector["unsignedTransaction"]), chance)
            try:
                parsed = parse_tempo(unsigned, SIGNER)
            except InvalidRequest:
                continue
            parsed.describe({})
            made = parsed.assemble(
                sign(Curve.SECP256K1, PRIVATE_KEY, parsed.scheme, parsed.messages, public_key=SIGNER.compressed)
            )
            assert list(rlp.decode(made[1:]))[:-1] == list(rlp.decode(unsigned[1:]))
            accepted += 1
    assert accepted > 30
