"""Ethereum transactions: the vectors, what an independent library builds and recovers, what is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest
import rlp
from eth_utils.address import to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.ethereum.transaction import parse_ethereum
from keystead.chains.signatures import SignatureScheme
from keystead.chains.transaction import UnsignedTransaction
from keystead.keys.signatures import sign
from tests.chains.signing_vectors import SIGNING, account, party
from tests.support import independent_ethereum
from tests.support.examples import examples
from tests.support.facts import as_documented, readable

ADDRESS = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
PRIVATE_KEY, SIGNER = account(ADDRESS)
TO = bytes.fromhex("70997970c51812dc3a010c7d01b50e0d17dc79c8")
VECTORS = {vector["id"]: vector for vector in SIGNING["ethereumTransactions"]}


def signed(transaction: UnsignedTransaction) -> bytes:
    made = sign(
        Curve.SECP256K1, PRIVATE_KEY, transaction.scheme, transaction.messages, public_key=SIGNER.compressed
    )
    return transaction.assemble(made)


def facts(unsigned: bytes) -> Any:
    return parse_ethereum(unsigned, SIGNER).describe({}).keywords["eth"]["tx"]


@pytest.mark.parametrize("name", VECTORS)
def test_vector(name: str) -> None:
    vector = VECTORS[name]
    parsed = parse_ethereum(bytes.fromhex(vector["unsignedTransaction"]), SIGNER)
    assert parsed.scheme is SignatureScheme.ECDSA
    assert [message.hex() for message in parsed.messages] == [vector["digest"]]
    assert signed(parsed).hex() == vector["signedTransaction"]
    assert independent_ethereum.Account.recover_transaction(signed(parsed)) == ADDRESS


MARKET = {"max_fee_per_gas": 30_000_000_000}
FACTS: dict[str, dict[str, Any]] = {
    "legacy-eip155": {"type": "LEGACY", "chain_id": 1, "nonce": 9, "gas_price": 20_000_000_000, "gas": 21000},
    "legacy-no-chain-id": {"type": "LEGACY", "value": 1, "to": "0x" + TO.hex()},
    "eip2930": {"type": "TYPE_1", "data": "0xa9059cbb", "value": 5},
    "eip1559": {"type": "TYPE_2", **MARKET, "max_priority_fee_per_gas": 10**9, "gas_price": 30_000_000_000},
    "eip1559-contract-creation": {"type": "TYPE_2", "to": "", "data": "0x6001600155", "chain_id": 8453},
    "eip4844": {"type": "TYPE_3", **MARKET, "max_fee_per_blob_gas": 1_000_000, "data": "0x"},
    "eip7702": {"type": "TYPE_4", **MARKET, "to": ADDRESS.lower()},
}
UNREADABLE = {
    "legacy-eip155": ("max_fee_per_gas", "max_priority_fee_per_gas", "max_fee_per_blob_gas"),
    "legacy-no-chain-id": ("chain_id",),
    "eip2930": ("max_fee_per_gas",),
    "eip1559": ("max_fee_per_blob_gas", "function_name", "function_signature", "contract_call_args"),
}


@pytest.mark.parametrize("name", FACTS)
def test_facts(name: str) -> None:
    found = facts(bytes.fromhex(VECTORS[name]["unsignedTransaction"]))
    assert {field: as_documented(found[field]) for field in FACTS[name]} == FACTS[name]
    assert found["from"] == ADDRESS.lower()
    assert not set(UNREADABLE.get(name, ())) & readable(found).keys()


def test_the_contract_called() -> None:
    """Plain transfers and creations call none whose interface would tell more."""
    calls = {name: parse_ethereum(bytes.fromhex(VECTORS[name]["unsignedTransaction"]), SIGNER) for name in FACTS}
    assert {name for name, parsed in calls.items() if parsed.contracts} == {"eip2930"}
    assert calls["eip2930"].contracts == ("0x" + TO.hex(),)


LEGACY = [b"", b"\x01", b"\x52\x08", TO, b"", b""]
MARKET_1559 = [b"\x01", b"", b"\x01", b"\x02", b"\x52\x08", TO, b"", b"", []]
BLOB: list[Any] = [*MARKET_1559, b"\x01", [b"\x01" + b"b" * 31]]
EIP_2930 = [b"\x01", *LEGACY, []]
AUTHORIZATION = [b"\x01", TO, b"", b"", b"\x01", b"\x01"]


def typed(kind: int, items: list[Any]) -> bytes:
    return bytes([kind]) + bytes(rlp.encode(items, infer_serializer=False))


def legacy(items: list[Any]) -> bytes:
    return bytes(rlp.encode(items, infer_serializer=False))


def changed(items: list[Any], index: int, item: Any) -> list[Any]:
    return [*items[:index], item, *items[index + 1 :]]


def test_what_the_refused_differ_from() -> None:
    for unsigned in (
        legacy(LEGACY),
        legacy([*LEGACY, b"\x01", b"", b""]),
        typed(1, EIP_2930),
        typed(2, MARKET_1559),
        typed(3, BLOB),
        typed(4, [*MARKET_1559, [AUTHORIZATION]]),
    ):
        assert independent_ethereum.Account.recover_transaction(signed(parse_ethereum(unsigned, SIGNER))) == ADDRESS


REFUSED = [
    ("nothing", b"", "empty"),
    ("a byte behind", typed(2, MARKET_1559) + b"\0", "follow"),
    ("not RLP", bytes.fromhex("02ffff"), "RLP"),
    ("a string", b"\x02\x80", "list"),
    ("type 0", typed(0, LEGACY), "0x00"),
    ("type 5", typed(5, MARKET_1559), "0x05"),
    ("an optimism deposit", typed(0x7E, MARKET_1559), "0x7e"),
    ("a legacy one, signed", legacy([*LEGACY, b"\x25", b"\x01", b"\x01"]), "9 items"),
    ("a legacy one for chain 0", legacy([*LEGACY, b"", b"", b""]), "zero"),
    ("a legacy one with a chain id alone", legacy([*LEGACY, b"\x01"]), "7 items"),
    ("one of EIP-1559, signed", typed(2, [*MARKET_1559, b"", b"\x01", b"\x01"]), "leave its signature out"),
    (
        "one of EIP-1559 with empty signature fields",
        typed(2, [*MARKET_1559, b"", b"", b""]),
        "leave its signature out",
    ),
    ("too few items", typed(2, MARKET_1559[:-1]), "9 items"),
    ("a nonce with a zero in front", typed(2, changed(MARKET_1559, 1, b"\0\1")), "nonce"),
    ("a nonce written as a zero byte", typed(2, changed(MARKET_1559, 1, b"\0")), "nonce"),
    ("a nonce beyond 64 bits", typed(2, changed(MARKET_1559, 1, b"\1" * 9)), "nonce"),
    ("the nonce above the last", typed(2, changed(MARKET_1559, 1, b"\xff" * 8)), "`nonce`: it is above"),
    ("that of a legacy one", legacy(changed([*LEGACY, b"\x01", b"", b""], 0, b"\xff" * 8)), "`nonce`: it is above"),
    ("a gas limit beyond 64 bits", typed(2, changed(MARKET_1559, 4, b"\1" * 9)), "gas"),
    ("a value beyond 256 bits", typed(2, changed(MARKET_1559, 6, b"\1" * 33)), "value"),
    ("a value that is a list", typed(2, changed(MARKET_1559, 6, [])), "value"),
    ("data that is a list", typed(2, changed(MARKET_1559, 7, [b"a"])), "data"),
    ("an address of 19 bytes", typed(2, changed(MARKET_1559, 5, TO[:-1])), "to"),
    ("an address of 32 bytes", typed(2, changed(MARKET_1559, 5, TO.rjust(32, b"\0"))), "to"),
    ("an access list that is a string", typed(2, changed(MARKET_1559, 8, b"")), "access_list"),
    ("an access list of strings", typed(2, changed(MARKET_1559, 8, [TO])), "access_list[0]"),
    ("a storage key of 31 bytes", typed(2, changed(MARKET_1559, 8, [[TO, [b"a" * 31]]])), "storage_keys[0]"),
    ("a blob transaction that creates a contract", typed(3, changed(BLOB, 5, b"")), "to"),
    ("a blob hash of 31 bytes", typed(3, changed(BLOB, 10, [b"a" * 31])), "blob_versioned_hashes[0]"),
    ("a blob transaction without a blob", typed(3, changed(BLOB, 10, [])), "blob_versioned_hashes`: it is empty"),
    (
        "a blob hash of version 0",
        typed(3, changed(BLOB, 10, [BLOB[10][0], b"\0" * 32])),
        "blob_versioned_hashes[1]`: a versioned hash begins with 01",
    ),
    ("a blob hash of version 2", typed(3, changed(BLOB, 10, [b"\2" * 32])), "not with 02"),
    ("a blob transaction with its sidecar", typed(3, [BLOB, [b"blob"], [b"c"], [b"p"]]), "4"),
    ("a delegation that creates a contract", typed(4, [*changed(MARKET_1559, 5, b""), [AUTHORIZATION]]), "to"),
    (
        "an authorization without a signature",
        typed(4, [*MARKET_1559, [AUTHORIZATION[:3]]]),
        "authorization_list[0]",
    ),
    ("no authorization", typed(4, [*MARKET_1559, []]), "authorization_list`: it is empty"),
    ("an authorization list that is a string", typed(4, [*MARKET_1559, b""]), "authorization_list"),
]


REFUSED += [
    (
        f"a priority fee above the whole, type {kind}",
        typed(kind, changed(changed(items, 2, b"\2"), 3, b"\1")),
        "priority",
    )
    for kind, items in ((2, MARKET_1559), (3, BLOB), (4, [*MARKET_1559, [AUTHORIZATION]]))
]

OF_EACH_TYPE: dict[int, tuple[list[Any], int, int]] = {
    1: (EIP_2930, 0, 3),
    2: (MARKET_1559, 0, 4),
    3: (BLOB, 0, 4),
    4: ([*MARKET_1559, [AUTHORIZATION]], 0, 4),
}
"""A transaction of each type, and where its chain id and its gas are."""
REFUSED += [
    (f"{field} zero, type {kind}", typed(kind, changed(items, at, b"")), f"`{field}`: it is zero")
    for kind, (items, *places) in OF_EACH_TYPE.items()
    for field, at in zip(("chain_id", "gas"), places, strict=True)
]


@pytest.mark.parametrize(("name", "unsigned", "says"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_refused(name: str, unsigned: bytes, says: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_ethereum(unsigned, SIGNER)
    assert refused.value.message.startswith("failed to parse transaction: ")
    assert says in refused.value.message
    assert refused.value.machine_code == "INVALID_TRANSACTION"


@pytest.mark.parametrize("curve", [Curve.ED25519, Curve.P256])
def test_a_key_of_another_curve(curve: Curve) -> None:
    with pytest.raises(InvalidRequest, match=f"signWith.*{Curve.SECP256K1}.*{curve}"):
        parse_ethereum(legacy(LEGACY), party(curve, "11" * 32))


NUMBER = st.integers(0, 2**256 - 1) | st.integers(0, 300)
SMALL = st.integers(0, 2**64 - 1) | st.integers(0, 300)
BYTES20 = st.binary(min_size=20, max_size=20)
KEYS = st.lists(st.binary(min_size=32, max_size=32).map(lambda key: "0x" + key.hex()), max_size=3)
ACCESS = st.lists(
    st.fixed_dictionaries({"address": BYTES20.map(to_checksum_address), "storageKeys": KEYS}), max_size=3
)
COMMON: dict[str, Any] = {
    "nonce": SMALL.map(lambda nonce: min(nonce, 2**64 - 2)),
    "gas": SMALL.map(lambda gas: gas or 1),
    "value": NUMBER,
    "data": st.binary(max_size=300),
}
DESTINATION = BYTES20 | st.just(b"")
CHAIN = {"chainId": st.integers(1, 2**53)}
FEES = st.tuples(NUMBER, NUMBER).map(lambda fees: {"maxFeePerGas": max(fees), "maxPriorityFeePerGas": min(fees)})
ANY_TRANSACTION = st.one_of(
    st.fixed_dictionaries(COMMON | CHAIN | {"to": DESTINATION, "gasPrice": NUMBER}),
    st.fixed_dictionaries(
        {
            **COMMON,
            **CHAIN,
            "to": BYTES20 | st.just(b""),
            "gasPrice": NUMBER,
            "accessList": ACCESS,
            "type": st.just(1),
        }
    ),
    st.tuples(
        st.fixed_dictionaries(COMMON | CHAIN | {"to": DESTINATION, "accessList": ACCESS, "type": st.just(2)}), FEES
    ).map(lambda parts: parts[0] | parts[1]),
)


@settings(max_examples=examples(75))
@given(ANY_TRANSACTION)
def test_whatever_the_independent_library_builds(transaction: dict[str, Any]) -> None:
    """It signs as we do, recovers the sender from what we sign, and policies see what it put in."""
    theirs = independent_ethereum.Account.from_key(PRIVATE_KEY).sign_transaction(transaction)
    parsed = parse_ethereum(unsigned_of(bytes(theirs.raw_transaction)), SIGNER)
    assert signed(parsed) == bytes(theirs.raw_transaction)
    assert independent_ethereum.Account.recover_transaction(signed(parsed)) == ADDRESS
    seen = parsed.describe({}).keywords["eth"]["tx"]
    assert seen["data"] == "0x" + transaction["data"].hex()
    assert as_documented(seen["to"]) == ("0x" + transaction["to"].hex() if transaction["to"] else "")
    assert seen["gas_price"] == transaction.get("gasPrice", transaction.get("maxFeePerGas"))
    assert {name: seen[name] for name in ("nonce", "gas", "value")} == {
        name: transaction[name] for name in ("nonce", "gas", "value")
    }
    assert seen["chain_id"] == transaction["chainId"]


def unsigned_of(raw: bytes) -> bytes:
    if raw[0] in (1, 2):
        return typed(raw[0], list(rlp.decode(raw[1:]))[:-3])
    items = list(rlp.decode(raw))
    chain_id = (int.from_bytes(items[6]) - 35) // 2
    return legacy([*items[:6], chain_id.to_bytes((chain_id.bit_length() + 7) // 8), b"", b""])


def test_mutated_bytes_are_refused_or_mean_themselves() -> None:
    """Whatever is accepted is exactly what the signed bytes hold. Seeded, so that a failure comes again."""
    chance = random.Random(7702)
    accepted = 0
    for vector in VECTORS.values():
        original = bytes.fromhex(vector["unsignedTransaction"])
        for _ in range(300):
            unsigned = mutated(original, chance)
            try:
                parsed = parse_ethereum(unsigned, SIGNER)
            except InvalidRequest:
                continue
            parsed.describe({})
            accepted += 1
            if unsigned[0] < 0xC0:
                assert unsigned_items(signed(parsed)[1:])[:-3] == unsigned_items(unsigned[1:])
            else:
                assert unsigned_items(signed(parsed))[:6] == unsigned_items(unsigned)[:6]
    assert accepted > 100


def unsigned_items(payload: bytes) -> list[Any]:
    return list(rlp.decode(payload))


def mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(changed))
        match chance.randrange(4):
            case 0:
                changed[at] = chance.randrange(256)
            case 1:
                changed[at] ^= 1 << chance.randrange(8)
            case 2:
                changed.insert(at, chance.randrange(256))
            case _:
                del changed[at : at + chance.randint(1, 4)]
                changed = changed or bytearray(1)
    return bytes(changed)
