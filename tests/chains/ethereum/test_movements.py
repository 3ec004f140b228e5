"""What calls, transactions and typed data of Ethereum move: the whole table, and what is in no standard."""

from __future__ import annotations

from typing import Any

import pytest
import rlp
from eth_hash.auto import keccak

from keystead.api.enums import HashFunction, PayloadEncoding
from keystead.chains.ethereum import movements as table
from keystead.chains.ethereum import typed_movements
from keystead.chains.ethereum.tempo import parse_tempo
from keystead.chains.ethereum.transaction import BLOB_GAS, parse_ethereum, view_ethereum
from keystead.chains.movements import MovementKind
from keystead.chains.payloads import read_payload
from keystead.primitives.unreadable import Unreadable
from tests.chains.ethereum.movers import (
    ANY,
    FUNCTIONS,
    ME,
    OTHER_DATA,
    STRUCTURES,
    THIEF,
    TOKEN,
    UNKNOWN,
    UNLIMITED,
    Mover,
    shown,
)
from tests.chains.ethereum.test_ethereum import AUTHORIZATION, BLOB, LEGACY, MARKET_1559, SIGNER, changed, typed
from tests.chains.ethereum.test_ethereum import legacy as legacy_transaction
from tests.chains.ethereum.test_tempo import KIND, PLAIN


def number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8)


def transaction(to: str = TOKEN, data: bytes = b"", value: int = 0) -> bytes:
    called = changed(MARKET_1559, 5, bytes.fromhex(to[2:]))
    return typed(2, changed(changed(called, 6, number(value)), 7, data))


def moved(unsigned: bytes) -> list[tuple[str, str, str, str, Any]]:
    parsed = parse_ethereum(unsigned, SIGNER)
    kept = [movement for movement in parsed.movements if movement.kind is not MovementKind.FEE]
    seen = parsed.describe({}).keywords["eth"]["tx"]["movements"]
    assert [shown(each) for each in seen] == [shown(each) for each in kept]
    return [shown(each) for each in kept]


@pytest.mark.parametrize("mover", FUNCTIONS, ids=lambda mover: mover.signature)
def test_a_function_of_the_standards(mover: Mover) -> None:
    assert moved(transaction(data=mover.data, value=mover.value)) == mover.moves
    # Bytes behind the arguments change nothing.
    assert moved(transaction(data=mover.data + b"\x01", value=mover.value)) == mover.moves


def test_every_function_of_the_table_has_an_example() -> None:
    assert {mover.data[:4] for mover in FUNCTIONS} == set(table._BY_SELECTOR)


@pytest.mark.parametrize("name", OTHER_DATA)
def test_a_call_that_does_not_say_what_it_moves(name: str) -> None:
    assert moved(transaction(data=OTHER_DATA[name])) == UNKNOWN
    assert moved(transaction(data=OTHER_DATA[name], value=3)) == [("TRANSFER", "NATIVE", ME, TOKEN, 3), *UNKNOWN]


@pytest.mark.parametrize("mover", FUNCTIONS, ids=lambda mover: mover.signature)
def test_arguments_that_are_cut_short(mover: Mover) -> None:
    if len(mover.data) > 4:
        (found,) = [each for each in moved(transaction(data=mover.data[:-32])) if each[0] == "UNKNOWN"]
        assert found == UNKNOWN[0]


def test_lists_that_do_not_belong_together() -> None:
    mover = next(each for each in FUNCTIONS if each.signature.startswith("safeBatchTransferFrom"))
    mover = type(mover)(**{**vars(mover), "arguments": [ME, THIEF, [77, 78], [5], b""]})
    assert moved(transaction(data=mover.data)) == UNKNOWN


def test_a_call_of_the_account_itself() -> None:
    """Its own code, if it has some, acts as the account."""
    data = next(each for each in FUNCTIONS if each.signature == "transfer(address,uint256)").data
    assert moved(transaction(to=ME, data=data)) == [("UNKNOWN", ANY, ME, ANY, ANY)]
    assert moved(transaction(to=ME, value=3)) == [("TRANSFER", "NATIVE", ME, ME, 3)]


def test_a_contract_of_the_network() -> None:
    """Some networks have their coin as a token at one of their first addresses."""
    own = "0x" + "0" * 36 + "0802"
    data = next(each for each in FUNCTIONS if each.signature == "transfer(address,uint256)").data
    assert moved(transaction(to=own, data=data)) == [("TRANSFER", ANY, ME, THIEF, 5)]
    assert moved(transaction(to=own, data=b"\1\2\3\4")) == [("UNKNOWN", ANY, ME, ANY, ANY)]


def test_value() -> None:
    assert moved(transaction(to=THIEF, value=3)) == [("TRANSFER", "NATIVE", ME, THIEF, 3)]
    assert moved(transaction(to=THIEF)) == []


def test_the_creation_of_a_contract() -> None:
    created = changed(changed(MARKET_1559, 5, b""), 7, b"\x60\x01")
    address = "0x" + keccak(rlp.encode([bytes.fromhex(ME[2:]), b""]))[12:].hex()
    assert moved(typed(2, created)) == [("UNKNOWN", address, ME, ANY, ANY)]
    assert moved(typed(2, changed(created, 6, b"\x03")))[0] == ("TRANSFER", "NATIVE", ME, address, 3)
    unsigned = typed(KIND, changed(PLAIN, 4, [[b"", b"\x05", b"\x60\x01"]]))
    value, creation, _ = parse_tempo(unsigned, SIGNER).movements
    assert shown(value) == ("TRANSFER", "NATIVE", ME, ANY, 5)
    assert shown(creation) == ("UNKNOWN", ANY, ME, ANY, ANY)


def test_the_creation_by_a_key_that_is_named_by_its_id() -> None:
    created = changed(changed(MARKET_1559, 5, b""), 7, b"\x60\x01")
    (creation, _) = view_ethereum(typed(2, created), "01a1ffce-c49a-7000-8000-000000000001").movements
    assert isinstance(creation.asset, Unreadable)


@pytest.mark.parametrize("chain_id", [0, 1])
def test_the_authorizations_of_a_transaction(chain_id: int) -> None:
    unsigned = typed(4, [*MARKET_1559, [changed(AUTHORIZATION, 0, number(chain_id)), AUTHORIZATION]])
    code = "0x" + AUTHORIZATION[1].hex()
    assert moved(unsigned) == [("AUTHORITY", ANY, ANY, code, UNLIMITED)] * 2
    first, second = parse_ethereum(unsigned, SIGNER).describe({}).keywords["eth"]["tx"]["authorization_list"]
    assert second == {"address": code, "chain_id": 1, "nonce": 0}
    if chain_id == 0:
        every_chain = Unreadable("an authorization for chain 0 holds on every chain", literal=0)
        assert first == {"address": code, "chain_id": every_chain, "nonce": 0}
    else:
        assert first == second


def test_only_a_transaction_of_that_type_has_authorizations() -> None:
    assert parse_ethereum(transaction(), SIGNER).describe({}).keywords["eth"]["tx"]["authorization_list"] == []


FEES = [
    ("legacy", legacy_transaction(LEGACY), 21_000),
    ("EIP-1559", typed(2, changed(changed(MARKET_1559, 3, b"\x07"), 4, b"\x0a")), 70),
    (
        "blobs",
        typed(3, changed(changed(BLOB, 9, b"\x03"), 10, [*BLOB[10], *BLOB[10]])),
        2 * 21_000 + 2 * 3 * BLOB_GAS,
    ),
]


@pytest.mark.parametrize(("unsigned", "fee"), [row[1:] for row in FEES], ids=[row[0] for row in FEES])
def test_fees(unsigned: bytes, fee: int) -> None:
    parsed = parse_ethereum(unsigned, SIGNER)
    assert parsed.describe({}).keywords["eth"]["tx"]["fee"] == fee
    (charged,) = [each for each in parsed.movements if each.kind is MovementKind.FEE]
    assert shown(charged) == ("FEE", "NATIVE", ME, "", fee)


# Tempo


def test_the_calls_of_a_tempo_transaction() -> None:
    mover = FUNCTIONS[0]
    calls = [[bytes.fromhex(TOKEN[2:]), b"", mover.data], [bytes.fromhex(THIEF[2:]), b"\x05", b""]]
    parsed = parse_tempo(typed(KIND, changed(PLAIN, 4, calls)), SIGNER)
    tx = parsed.describe({}).keywords["tempo"]["tx"]
    value = ("TRANSFER", "NATIVE", ME, THIEF, 5)
    assert [shown(each) for each in tx["movements"]] == [*mover.moves, value]
    # Fees are charged in units of the token, a millionth of a dollar; prices are in 10^-18 dollars.
    assert tx["fee"] == 1
    (charged,) = [each for each in parsed.movements if each.kind is MovementKind.FEE]
    assert shown(charged) == ("FEE", ANY, ME, "", 1)


def test_a_fee_that_another_account_pays() -> None:
    token = bytes.fromhex(TOKEN[2:])
    parsed = parse_tempo(typed(KIND, changed(changed(PLAIN, 11, b"\0"), 10, token)), SIGNER)
    assert [shown(each) for each in parsed.movements] == [("FEE", TOKEN, ANY, "", 1)]


# Typed data


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure(name: str) -> None:
    structure = STRUCTURES[name]
    read = read_payload(structure.text(), PayloadEncoding.EIP712, HashFunction.NO_OP, "payload")
    assert [shown(each) for each in read.movements] == structure.moves
    assert [shown(each) for each in read.keywords["eth"]["eip_712"]["movements"]] == structure.moves


def test_every_structure_of_the_table_has_an_example() -> None:
    known = {structure.primary_type for structure in STRUCTURES.values()}
    assert {text.partition("(")[0] for text in typed_movements._STRUCTURES} <= known


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_domain_without_a_contract(name: str) -> None:
    """A signature for it holds for the token of every contract."""
    read = read_payload(
        STRUCTURES[name].text({"name": "Any"}), PayloadEncoding.EIP712, HashFunction.NO_OP, "payload"
    )
    expected = [ANY if asset == TOKEN else asset for _, asset, *_ in STRUCTURES[name].moves]
    if name.startswith("Permit2"):
        expected = [asset for _, asset, *_ in STRUCTURES[name].moves]
    assert [shown(each)[1] for each in read.movements] == expected


def test_a_witness_that_only_looks_like_the_permission_of_permit2() -> None:
    structure = STRUCTURES["Permit2, one transfer with a witness"]
    types = structure.types | {
        "TokenPermissions": "address token,string amount",
        "XTokenPermissions": "address token,uint256 amount",
        "PermitWitnessTransferFrom": structure.types["PermitWitnessTransferFrom"].replace(
            "Order order", "XTokenPermissions order"
        ),
    }
    permission = {"token": TOKEN, "amount": 5}
    message = structure.message | {"permitted": {**permission, "amount": "5"}, "order": permission}
    text = type(structure)(structure.primary_type, types, message, []).text()
    read = read_payload(text, PayloadEncoding.EIP712, HashFunction.NO_OP, "payload")
    assert [shown(each)[0] for each in read.movements] == ["UNKNOWN"]


def test_an_authorization_gives_power_over_everything() -> None:
    text = '{"address": "0x' + "ee" * 20 + '", "chainId": 0, "nonce": 0}'
    read = read_payload(text, PayloadEncoding.EIP7702_AUTHORIZATION, HashFunction.NO_OP, "payload")
    assert [shown(each) for each in read.movements] == [("AUTHORITY", ANY, ANY, THIEF, UNLIMITED)]


def test_nothing_is_known_of_raw_bytes() -> None:
    read = read_payload("ab" * 32, PayloadEncoding.HEXADECIMAL, HashFunction.NO_OP, "payload")
    assert read.movements == ()


@pytest.mark.parametrize(
    ("amount", "unlimited"), [(0, False), (2**128 - 1, False), (2**128, True), (UNLIMITED, True)]
)
def test_a_permission_without_a_limit(amount: int, unlimited: bool) -> None:
    data = bytes.fromhex("095ea7b3") + bytes(31) + b"\x01" + amount.to_bytes(32)
    (allowance, _) = parse_ethereum(transaction(data=data), SIGNER).movements
    assert allowance.is_unlimited is unlimited
