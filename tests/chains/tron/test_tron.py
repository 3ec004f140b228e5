"""Tron transactions: the vectors, what TronWeb writes for every contract type, what is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from bip_utils import TrxAddrDecoder
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.errors import InvalidRequest
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.tron.messages import MESSAGES, read
from keystead.chains.tron.transaction import parse_tron
from tests.chains.signing_vectors import SIGNING, account, party
from tests.chains.tron import independent
from tests.chains.tron.independent import write
from tests.support import secp256k1
from tests.support.examples import examples
from tests.support.facts import readable, reason

(VECTOR,) = SIGNING["tronTransactions"]
PRIVATE_KEY, SIGNER = account(VECTOR["signWith"])
TRONWEB: dict[str, Any] = json.loads((Path(__file__).parents[2] / "vectors" / "tron.json").read_bytes())
WRITTEN: dict[str, dict[str, Any]] = {row["id"]: row for row in TRONWEB["transactions"]}


def signed(messages: tuple[bytes, ...]) -> list[Signature]:
    made = [secp256k1.sign_recoverable(PRIVATE_KEY, message) for message in messages]
    return [Signature(one[:32], one[32:64], one[64]) for one in made]


def facts(unsigned: bytes) -> dict[str, Any]:
    tx: dict[str, Any] = parse_tron(unsigned, SIGNER).describe({}).keywords["tron"]["tx"]
    return tx


def test_vector() -> None:
    parsed = parse_tron(bytes.fromhex(VECTOR["unsignedTransaction"]), SIGNER)
    assert parsed.scheme is SignatureScheme.ECDSA
    assert [message.hex() for message in parsed.messages] == [VECTOR["digest"]]
    assert parsed.assemble(signed(parsed.messages)).hex() == VECTOR["signedTransactionRecid"]


SHOWN: dict[str, dict[str, Any]] = {
    "TransferContract": {"to_address": "b1", "amount": 9999999},
    "TransferContract with memo": {"to_address": "b1", "amount": 1, "permission_id": 2},
    "TriggerSmartContract": {
        "contract_address": "b2",
        "data": "a9059cbb" + "0" * 126 + "05",
        "call_value": 7,
        "call_token_value": 8,
        "token_id": 1000001,
    },
    "DelegateResourceContract": {
        "receiver_address": "b3",
        "balance": 1000000,
        "resource": "ENERGY",
        "lock": True,
        "lock_period": 86400,
    },
    "UnDelegateResourceContract": {"receiver_address": "b3", "balance": 1000000, "resource": "BANDWIDTH"},
    "FreezeBalanceV2Contract": {"frozen_balance": 2000000, "resource": "ENERGY"},
    "UnfreezeBalanceV2Contract": {"unfreeze_balance": 3000000, "resource": "ENERGY"},
}


def tronweb_address(byte: str) -> str:
    return str(TRONWEB["addresses"]["41" + byte * 20])


@pytest.mark.parametrize("name", SHOWN)
def test_what_tronweb_writes_is_shown(name: str) -> None:
    row = WRITTEN[name]
    unsigned = bytes.fromhex(row["raw_data_hex"])
    assert parse_tron(unsigned, SIGNER).messages[0].hex() == row["txID"]
    expected = {
        field: tronweb_address(value) if field.endswith("_address") else value
        for field, value in {"owner_address": "a1", "permission_id": 0, **SHOWN[name]}.items()
    }
    (found,) = facts(unsigned)["contract"]
    assert readable(found) == {"type": row["contract"]["type"], **expected}
    assert {reason(found[field]) for field in found.keys() - readable(found).keys()} == {
        f"a {row['contract']['type']} does not have it"
    }


def test_the_transaction_itself_is_shown() -> None:
    tx = facts(bytes.fromhex(WRITTEN["TransferContract with memo"]["raw_data_hex"]))
    assert {name: value for name, value in tx.items() if name not in ("contract", "movements")} == {
        "ref_block_bytes": "01f7",
        "ref_block_hash": "7de0c0a1e6bd5f1a",
        "expiration": 1763762400000,
        "timestamp": 1763762340000,
        "fee_limit": 0,
        "data": b"hello".hex(),
    }
    assert facts(bytes.fromhex(WRITTEN["TriggerSmartContract"]["raw_data_hex"]))["fee_limit"] == 150000000


@pytest.mark.parametrize(
    ("name", "witness"),
    [("AccountPermissionUpdateContract", False), ("AccountPermissionUpdateContract with witness", True)],
)
def test_permissions_are_shown(name: str, witness: bool) -> None:
    row = WRITTEN[name]
    (contract,) = readable(facts(bytes.fromhex(row["raw_data_hex"])))["contract"]
    keys = [{"address": tronweb_address(byte), "weight": 1} for byte in ("c1", "c2")]
    operations = "7fff1fc0033e" + "0" * 52

    def permission(kind: str, number: int, name: str) -> dict[str, Any]:
        return {
            "type": kind,
            "id": number,
            "permission_name": name,
            "threshold": 2,
            "parent_id": 0,
            "operations": operations if kind == "Active" else "",
            "keys": keys,
        }

    assert contract.pop("owner_address") == tronweb_address("a1")
    assert contract == {
        "type": "AccountPermissionUpdateContract",
        "permission_id": 0,
        "owner": permission("Owner", 0, "owner"),
        **({"witness": permission("Witness", 1, "witness")} if witness else {}),
        "actives": [permission("Active", 2, "active0")] * (2 if witness else 1),
    }


def test_addresses_decode_elsewhere() -> None:
    (contract,) = facts(bytes.fromhex(VECTOR["unsignedTransaction"]))["contract"]
    assert contract["owner_address"] == VECTOR["signWith"]
    assert TrxAddrDecoder.DecodeAddr(contract["to_address"]).hex() == "f1cd33c4802dec54475c555f95e9403a62fd3553"


A, B = b"\x41" + b"\xa1" * 20, b"\x41" + b"\xb1" * 20
TRANSFER = write("TransferContract", owner_address=A, to_address=B, amount=1)


def contract(kind: int = 1, name: str = "TransferContract", value: bytes = TRANSFER, extra: bytes = b"") -> bytes:
    parameter = write("Parameter", type_url=f"type.googleapis.com/protocol.{name}", value=value)
    written = write("Contract", type=kind) + b"\x12" + bytes([len(parameter)]) + parameter + extra
    return b"\x5a" + bytes([len(written)]) + written


UNDELEGATE = write("UnDelegateResourceContract", owner_address=A, resource=3, balance=1, receiver_address=B)
PERMISSION = write("Permission", type=3)
UPDATE = write("AccountPermissionUpdateContract", owner_address=A) + b"\x12" + bytes([len(PERMISSION)]) + PERMISSION

REFUSED = [
    ("nothing", b"", "0 contracts"),
    ("garbage", bytes.fromhex("deadbeef"), "the Tron message raw: it ends"),
    ("no contract", write("raw", expiration=1), "0 contracts"),
    ("two contracts", contract() * 2, "2 contracts"),
    ("a trailing byte", contract() + b"\0", "raw: field 0 is not among those that are signed"),
    ("a missing byte", contract()[:-1], "the Tron message raw: it "),
    (
        "an unknown field",
        contract() + b"\x98\x06\x01",
        "raw: field [0-9]+ is not among those that are signed: 1, 4, 8, 10, 11, 14, 18",
    ),
    ("a field twice", contract() + b"\x70\x01\x70\x02", "canonical encoding: field 14 is repeated"),
    ("fields out of order", contract() + b"\x40\x01", "canonical"),
    ("a default written out", contract() + b"\x70\x00", "canonical"),
    ("a number not in its shortest form", contract() + b"\x70\x81\x00", "canonical .*shortest"),
    ("a number beyond 64 bits", contract() + b"\x70" + b"\xff" * 9 + b"\x02", "beyond 64 bits"),
    ("a number without end", contract() + b"\x70" + b"\x80" * 12, "beyond 64 bits"),
    (
        "scripts",
        contract() + b"\x62\x01\x00",
        "raw: field [0-9]+ is not among those that are signed: 1, 4, 8, 10, 11, 14, 18",
    ),
    ("a contract's provider", contract(extra=b"\x1a\x01\x00"), "Contract: field 3 is not among"),
    ("a type that is not supported", contract(56, "WithdrawExpireUnfreezeContract"), "contract type 56"),
    (
        "WithdrawExpireUnfreezeContract",
        bytes.fromhex(WRITTEN["WithdrawExpireUnfreezeContract"]["raw_data_hex"]),
        "contract type 56",
    ),
    ("an unknown type", contract(-1), "contract type -1"),
    ("another type in the parameter", contract(31), "the parameter of the TriggerSmartContract"),
    (
        "an unknown field in the parameter",
        contract(value=TRANSFER + b"\x20\x01"),
        "TransferContract: field 4 is not among",
    ),
    ("no parameter", b"\x5a\x02\x08\x01", "has no parameter"),
    ("garbage in the parameter", contract(value=b"\xff"), "the Tron message TransferContract: it ends"),
    ("no addresses", contract(value=b""), "not a Tron address: no bytes"),
    (
        "an address of another length",
        contract(value=write("TransferContract", owner_address=A, to_address=B[:-1], amount=1)),
        "not a Tron address",
    ),
    (
        "an address of another network",
        contract(value=write("TransferContract", owner_address=A, to_address=b"\xa0" + B[1:], amount=1)),
        "not a Tron address",
    ),
    ("an unknown resource", contract(58, "UnDelegateResourceContract", UNDELEGATE), "resource 3"),
    ("an unknown permission", contract(46, "AccountPermissionUpdateContract", UPDATE), "permission type 3"),
    ("more bytes than a node takes", bytes(511_930), "at most 511929"),
]


def test_the_contract_of_the_refusals_is_good_itself() -> None:
    assert facts(contract())["contract"][0]["amount"] == 1


@pytest.mark.parametrize(("unsigned", "why"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(unsigned: bytes, why: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^failed to parse transaction: .*{why}") as refused:
        parse_tron(unsigned, SIGNER)
    assert refused.value.machine_code == "INVALID_TRANSACTION"


def test_key_of_another_curve_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="CURVE_SECP256K1"):
        parse_tron(contract(), party("CURVE_P256", "01" * 32))


@settings(max_examples=examples(100))
@given(st.sampled_from([row["raw_data_hex"] for row in WRITTEN.values()]), st.data())
def test_altered_bytes_are_refused_or_signed_as_they_are(raw_data_hex: str, data: st.DataObject) -> None:
    altered = bytearray.fromhex(raw_data_hex)
    for _ in range(data.draw(st.integers(1, 3))):
        altered[data.draw(st.integers(0, len(altered) - 1))] = data.draw(st.integers(0, 255))
    unsigned = bytes(altered[: data.draw(st.sampled_from([None, None, -1, 40]))])
    try:
        parsed = parse_tron(unsigned, SIGNER)
        parsed.describe({})
    except InvalidRequest as refused:
        assert refused.machine_code == "INVALID_TRANSACTION"
        return
    signatures = signed(parsed.messages)
    assert unsigned in parsed.assemble(signatures)
    recoverable = signatures[0].r + signatures[0].s + bytes([signatures[0].v])
    digest = hashlib.sha256(unsigned).digest()
    assert secp256k1.recovered(recoverable, digest) == SIGNER.compressed


def as_values(message: Any) -> dict[str, Any]:
    """A message of the protobuf library as the reader gives it."""
    values: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.is_repeated:
            values[field.name] = [as_values(one) if field.message_type else one for one in value]
        elif field.message_type:
            values[field.name] = as_values(value) if message.HasField(field.name) else None
        else:
            values[field.name] = value
    return values


@st.composite
def messages(draw: st.DrawFn, name: str) -> dict[str, Any]:
    scalars: dict[str, st.SearchStrategy[Any]] = {
        "bytes": st.binary(max_size=3),
        "string": st.text(max_size=3),
        "bool": st.booleans(),
        "int32": st.integers(-(2**31), 2**31 - 1),
        "int64": st.integers(-(2**63), 2**63 - 1),
    }
    values: dict[str, Any] = {}
    for field, _, kind in MESSAGES[name]:
        plain = kind.strip("[]")
        one = messages(plain) if plain in MESSAGES else scalars[plain]
        if plain != kind:
            values[field] = draw(st.lists(one, max_size=2))
        elif draw(st.booleans()):
            values[field] = draw(one)
    return values


@settings(max_examples=examples(100))
@given(st.sampled_from(sorted(MESSAGES)), st.data())
def test_messages_are_read_as_the_protobuf_library_reads_them(name: str, data: st.DataObject) -> None:
    written = bytearray(write(name, **data.draw(messages(name))))
    for _ in range(data.draw(st.integers(0, 2))):
        if written:
            place = data.draw(st.integers(0, len(written) - 1))
            written[place] = data.draw(st.sampled_from([0, 1, 2, 8, 10, 0x12, 0x7F, 0x80, 0xFF]))
    theirs = independent.read(name, bytes(written))
    try:
        ours = read(name, bytes(written))
    except InvalidRequest:
        assert theirs is None
        return
    assert theirs is not None
    assert ours == as_values(theirs)
