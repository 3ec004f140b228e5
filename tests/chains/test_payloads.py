"""Raw payloads: the message that is signed for each encoding and hash function, and the allowed combinations."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from typing import Any

import pytest
import rlp
from eth_hash.auto import keccak

from keystead.api.enums import Curve, HashFunction, PayloadEncoding
from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import PAYLOAD_CHARACTERS_MAX
from keystead.chains.payloads import check_combination, hex_bytes, read_payload
from tests.chains.signing_vectors import SIGNING

K1, P256, ED = Curve.SECP256K1, Curve.P256, Curve.ED25519
HEX, UTF8 = PayloadEncoding.HEXADECIMAL, PayloadEncoding.TEXT_UTF8
EIP712, EIP7702 = PayloadEncoding.EIP712, PayloadEncoding.EIP7702_AUTHORIZATION
NO_OP, SHA256, KECCAK = HashFunction.NO_OP, HashFunction.SHA256, HashFunction.KECCAK256
NONE = HashFunction.NOT_APPLICABLE

HASHES = (NO_OP, SHA256, KECCAK)
ALLOWED = {
    *(
        (curve, encoding, hashed)
        for curve in (K1, P256)
        for encoding in (HEX, UTF8)
        for hashed in (NO_OP, SHA256, KECCAK)
    ),
    (ED, HEX, NONE),
    (ED, UTF8, NONE),
    (K1, EIP712, NO_OP),
    (K1, EIP7702, NO_OP),
}
EVERY = [(curve, encoding, hashed) for curve in Curve for encoding in PayloadEncoding for hashed in HashFunction]


@pytest.mark.parametrize(("curve", "encoding", "hashed"), EVERY, ids=str)
def test_combination(curve: Curve, encoding: PayloadEncoding, hashed: HashFunction) -> None:
    if (curve, encoding, hashed) in ALLOWED:
        check_combination(curve, encoding, hashed)
    else:
        with pytest.raises(InvalidRequest, match=r"^invalid (payload encoding|hash function): field `parameters\."):
            check_combination(curve, encoding, hashed)


READ = [
    ("a digest", "0x" + "ab" * 32, HEX, NO_OP, b"\xab" * 32),
    ("a digest in capitals", "AB" * 32, HEX, NO_OP, b"\xab" * 32),
    ("a capital X", "0XABcd", HEX, NONE, b"\xab\xcd"),
    ("bytes, hashed", "00ff", HEX, SHA256, hashlib.sha256(b"\x00\xff").digest()),
    ("text, hashed", "Zoë", UTF8, KECCAK, keccak("Zoë".encode())),
    ("text that looks like hex", "0x00", UTF8, NONE, b"0x00"),
    ("text with a zero", "a\x00b", UTF8, NONE, b"a\x00b"),
    ("text is not normalized", "e\u0301", UTF8, NONE, b"e\xcc\x81"),
    ("32 bytes of text as a digest", "k" * 32, UTF8, NO_OP, b"k" * 32),
]


@pytest.mark.parametrize(("name", "text", "encoding", "hashed", "message"), READ, ids=[name for name, *_ in READ])
def test_read(name: str, text: str, encoding: PayloadEncoding, hashed: HashFunction, message: bytes) -> None:
    read = read_payload(text, encoding, hashed, "f")
    assert (read.message, read.keywords) == (message, {})


AUTHORIZATION = {"address": "0x63c0c19a282a1B52b07dD5a65b58948A07DAE32B", "chainId": 1, "nonce": 7}


def authorization(**members: Any) -> str:
    return json.dumps(AUTHORIZATION | members)


REFUSED = [
    ("nothing", "", HEX, NO_OP),
    ("no text", "", UTF8, KECCAK),
    ("0x alone", "0x", HEX, KECCAK),
    ("half a byte", "abc", HEX, KECCAK),
    ("no hex", "xyzz", HEX, KECCAK),
    ("hex with a space", "ab cd", HEX, KECCAK),
    ("hex with a line break behind", "abcd\n", HEX, KECCAK),
    ("0x twice", "0x0xab", HEX, KECCAK),
    ("digits of another script", "١١", HEX, KECCAK),
    ("31 bytes as a digest", "ab" * 31, HEX, NO_OP),
    ("33 bytes as a digest", "ab" * 33, HEX, NO_OP),
    ("31 characters as a digest", "k" * 31, UTF8, NO_OP),
    ("half a surrogate pair", "\ud83d", UTF8, KECCAK),
    ("an authorization that is not JSON", "{", EIP7702, NO_OP),
    ("an authorization that is a list", "[]", EIP7702, NO_OP),
    (
        "an authorization without a nonce",
        json.dumps({"address": AUTHORIZATION["address"], "chainId": 1}),
        EIP7702,
        NO_OP,
    ),
    ("an authorization with more", authorization(gas=1), EIP7702, NO_OP),
    ("an authorization with a nonce twice", authorization()[:-1] + ', "nonce": 8}', EIP7702, NO_OP),
    ("an authorization to 19 bytes", authorization(address="0x" + "11" * 19), EIP7702, NO_OP),
    ("an authorization to nobody", authorization(address=""), EIP7702, NO_OP),
    ("an authorization with a negative nonce", authorization(nonce=-1), EIP7702, NO_OP),
    ("an authorization with a nonce of 65 bits", authorization(nonce=2**64), EIP7702, NO_OP),
    ("an authorization with a chain of 257 bits", authorization(chainId="0x1" + "0" * 64), EIP7702, NO_OP),
    ("an authorization with a fraction", authorization(nonce=1.5), EIP7702, NO_OP),
    ("an authorization nested without end", '{"address":' + "[" * 100_000, EIP7702, NO_OP),
    ("typed data that is not JSON", "{", EIP712, NO_OP),
]


@pytest.mark.parametrize(("name", "text", "encoding", "hashed"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_refused(name: str, text: str, encoding: PayloadEncoding, hashed: HashFunction) -> None:
    with pytest.raises(InvalidRequest):
        read_payload(text, encoding, hashed, "parameters.payload")


@pytest.mark.parametrize("chain_id", [0, 1, 11155111, 2**256 - 1])
@pytest.mark.parametrize("nonce", [0, 7, 2**64 - 1])
def test_authorization(chain_id: int, nonce: int) -> None:
    written: Any = hex(chain_id) if chain_id > 2**64 else chain_id
    read = read_payload(authorization(chainId=written, nonce=nonce), EIP7702, NO_OP, "f")
    address = bytes.fromhex(str(AUTHORIZATION["address"])[2:])
    assert read.message == keccak(b"\x05" + rlp.encode([chain_id, address, nonce]))
    seen = dict(read.keywords["eth"]["eip_7702_authorization"])
    chain = seen.pop("chain_id")
    assert seen == {"address": str(AUTHORIZATION["address"]).lower(), "nonce": nonce}
    # Chain 0 equals no other chain, and differs from none: the authorization holds on every chain.
    assert (chain.literal, "every chain" in chain.reason) == (0, True) if chain_id == 0 else chain == chain_id


def test_authorizations_that_clients_sent() -> None:
    calls = [one for one in SIGNING["clientCalls"] if one["parameters"].get("encoding") == EIP7702]
    assert calls
    for call in calls:
        read = read_payload(call["parameters"]["payload"], EIP7702, NO_OP, "f")
        assert read.message.hex() == call["digest"].removeprefix("0x")


def test_typed_data_for_policies() -> None:
    call = next(one for one in SIGNING["clientCalls"] if one["id"] == "viem-signTypedData-bigints")
    seen: Any = read_payload(call["parameters"]["payload"], EIP712, NO_OP, "f").keywords["eth"]["eip_712"]
    assert seen["primary_type"] == "Permit"
    assert seen["domain"] == {
        "name": "USD Coin",
        "version": "2",
        "chain_id": 8453,
        "verifying_contract": "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
    }
    assert seen["message"]["value"] == 2**256 - 1


def test_hex_digits_cost_no_more_memory_than_their_bytes() -> None:
    """A repeated group in a pattern took a hundred bytes for each pair of digits."""
    text = "0x" + "ab" * 400_000
    tracemalloc.start()
    try:
        assert hex_bytes(text) == b"\xab" * 400_000
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["", "0x", "a", "0xabc", "ab ", " ab", "ab\n", "0xx", "٠١", "0x0x00"])
def test_what_is_not_hex(text: str) -> None:
    assert hex_bytes(text) is None


@pytest.mark.parametrize("encoding", [HEX, UTF8])
def test_a_payload_that_is_too_long(encoding: PayloadEncoding) -> None:
    read_payload("a" * PAYLOAD_CHARACTERS_MAX, encoding, SHA256, "parameters.payload")
    with pytest.raises(InvalidRequest, match=r"524290 characters; a payload has at most 524288"):
        read_payload("a" * (PAYLOAD_CHARACTERS_MAX + 2), encoding, SHA256, "parameters.payload")
