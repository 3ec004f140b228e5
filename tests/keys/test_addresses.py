"""Addresses: every vector of a format that is written, and a refusal for every other pair of curve and format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bip_utils import Base58Encoder, EthAddrEncoder
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.enums import AddressFormat, Curve
from keystead.api.errors import InvalidRequest, NotImplementedHere
from keystead.keys.addresses import address, caip2_prefix, require_encodable
from keystead.keys.curves import PublicKey, public_key
from keystead.keys.derivation import derive_private_key
from keystead.keys.mnemonic import seed_from_mnemonic
from keystead.keys.paths import parse_path

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "addresses.json").read_bytes())

WRITTEN = {
    (Curve.SECP256K1, AddressFormat.UNCOMPRESSED),
    (Curve.SECP256K1, AddressFormat.COMPRESSED),
    (Curve.SECP256K1, AddressFormat.ETHEREUM),
    (Curve.P256, AddressFormat.UNCOMPRESSED),
    (Curve.P256, AddressFormat.COMPRESSED),
    (Curve.ED25519, AddressFormat.COMPRESSED),
    (Curve.ED25519, AddressFormat.SOLANA),
}
EXISTING = WRITTEN | {
    (Curve(vector["curve"]), AddressFormat(vector["addressFormat"])) for vector in VECTORS["walletAccounts"]
}

CASES = [
    *(
        (vector["curve"], vector["privateKey"], vector["addressFormat"], vector.get("address"))
        for vector in VECTORS["walletAccounts"]
    ),
    *(
        (vector["curve"], vector["privateKey"], entry["format"], entry["address"])
        for vector in VECTORS["rawPrivateKeys"]
        for entry in vector["addresses"]
    ),
]


@pytest.mark.parametrize(("curve_name", "private_key", "format_name", "expected"), CASES)
def test_vector(curve_name: str, private_key: str, format_name: str, expected: str | None) -> None:
    curve, address_format = Curve(curve_name), AddressFormat(format_name)
    key = public_key(curve, bytes.fromhex(private_key))
    if (curve, address_format) in WRITTEN:
        assert address(key, address_format) == expected
    else:
        with pytest.raises(NotImplementedHere, match=address_format):
            address(key, address_format)


KEYS = {curve: public_key(curve, b"\x46" * 32) for curve in Curve}


@pytest.mark.parametrize("address_format", AddressFormat)
@pytest.mark.parametrize("curve", Curve)
def test_every_pair_has_an_answer(curve: Curve, address_format: AddressFormat) -> None:
    if (curve, address_format) in WRITTEN:
        require_encodable(curve, address_format)
        assert address(KEYS[curve], address_format)
        return
    refusal = NotImplementedHere if (curve, address_format) in EXISTING else InvalidRequest
    for attempt in (
        lambda: require_encodable(curve, address_format),
        lambda: address(KEYS[curve], address_format),
    ):
        with pytest.raises(refusal) as refused:
            attempt()
        assert address_format in refused.value.message
        if refusal is InvalidRequest:
            assert refused.value.message.startswith(f"invalid address format: {address_format} ")


@pytest.mark.parametrize(
    "vector",
    [*VECTORS["mnemonics"], *VECTORS["passphraseSeeds"]],
    ids=lambda vector: vector.get("passphrase", vector.get("words")),
)
def test_first_accounts_of_a_mnemonic(vector: dict[str, Any]) -> None:
    seed = seed_from_mnemonic(vector["mnemonic"], vector.get("passphrase", ""))
    ethereum = _key(Curve.SECP256K1, seed, "m/44'/60'/0'/0/0")
    solana = _key(Curve.ED25519, seed, "m/44'/501'/0'/0'")
    assert address(ethereum, AddressFormat.ETHEREUM) == vector["ethereum"]
    assert address(solana, AddressFormat.SOLANA) == vector["solana"]


def _key(curve: Curve, seed: bytes, path: str) -> PublicKey:
    return public_key(curve, derive_private_key(curve, seed, parse_path(path)))


@pytest.mark.parametrize("address_format", AddressFormat)
def test_caip2_prefix(address_format: AddressFormat) -> None:
    known = {AddressFormat.ETHEREUM: "eip155", AddressFormat.SOLANA: "solana"}
    assert caip2_prefix(address_format) == known.get(address_format)


@settings(max_examples=50, deadline=None)
@given(st.binary(min_size=32, max_size=32).filter(any))
def test_ethereum_agrees_with_bip_utils(private_key: bytes) -> None:
    key = public_key(Curve.SECP256K1, b"\0" + private_key[1:31] + b"\1")
    assert address(key, AddressFormat.ETHEREUM) == EthAddrEncoder.EncodeKey(key.compressed)


@settings(max_examples=50, deadline=None)
@given(zeros=st.integers(0, 32), tail=st.binary(max_size=32))
def test_solana_agrees_with_bip_utils(zeros: int, tail: bytes) -> None:
    encoded = (bytes(zeros) + tail + bytes(32))[:32]
    key = PublicKey(Curve.ED25519, encoded, None)
    assert address(key, AddressFormat.SOLANA) == Base58Encoder.Encode(encoded)
