"""Addresses: every vector of a format that is written, and a refusal for every other pair of curve and format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bip_utils import (
    AtomAddrEncoder,
    Base58Encoder,
    EthAddrEncoder,
    P2PKHAddrEncoder,
    P2TRAddrEncoder,
    P2WPKHAddrEncoder,
    SuiAddrEncoder,
    TrxAddrEncoder,
    XlmAddrEncoder,
    XlmAddrTypes,
    XrpAddrEncoder,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.enums import AddressFormat, Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.addresses.formats import address, caip2_prefix, require_encodable
from keystead.chains.curves import PublicKey
from keystead.chains.paths import parse_path
from keystead.keys.derivation import derive_private_key
from keystead.keys.mnemonic import seed_from_mnemonic
from keystead.keys.public_keys import public_key

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "addresses.json").read_bytes())

# The script behind these is our choice (keys.addresses.bitcoin): the vectors have candidates.
SINGLE_KEY_SCRIPT = "over_p2pk"


def _expected(vector: dict[str, Any]) -> str:
    return str(vector.get("address") or vector["candidates"][SINGLE_KEY_SCRIPT]["address"])


CASES = [
    *(
        (vector["curve"], vector["privateKey"], vector["addressFormat"], _expected(vector))
        for vector in VECTORS["walletAccounts"]
    ),
    *(
        (vector["curve"], vector["privateKey"], entry["format"], entry["address"])
        for vector in VECTORS["rawPrivateKeys"]
        for entry in vector["addresses"]
    ),
]
EXISTING = {(Curve(curve), AddressFormat(address_format)) for curve, _, address_format, _ in CASES}


@pytest.mark.parametrize(("curve_name", "private_key", "format_name", "expected"), CASES)
def test_vector(curve_name: str, private_key: str, format_name: str, expected: str) -> None:
    key = public_key(Curve(curve_name), bytes.fromhex(private_key))
    assert address(key, AddressFormat(format_name)) == expected


def test_every_format_has_a_vector() -> None:
    assert {address_format for _, address_format in EXISTING} == set(AddressFormat)


@pytest.mark.parametrize("vector", VECTORS["walletAccounts"], ids=lambda v: f"{v['addressFormat']} {v['path']}")
def test_vector_from_the_mnemonic(vector: dict[str, Any]) -> None:
    """Through the path as it was asked for, which on ed25519 need not be hardened."""
    curve = Curve(vector["curve"])
    seed = bytes.fromhex(VECTORS["seed"])
    key = _key(curve, seed, vector.get("requestedPath", vector["path"]))
    assert address(key, AddressFormat(vector["addressFormat"])) == _expected(vector)


KEYS = {curve: public_key(curve, b"\x46" * 32) for curve in Curve}


@pytest.mark.parametrize("address_format", AddressFormat)
@pytest.mark.parametrize("curve", Curve)
def test_every_pair_has_an_answer(curve: Curve, address_format: AddressFormat) -> None:
    if (curve, address_format) in EXISTING:
        require_encodable(curve, address_format)
        assert address(KEYS[curve], address_format)
        return
    for attempt in (
        lambda: require_encodable(curve, address_format),
        lambda: address(KEYS[curve], address_format),
    ):
        with pytest.raises(InvalidRequest) as refused:
            attempt()
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


@settings(max_examples=50)
@given(st.binary(min_size=32, max_size=32).filter(any))
def test_ethereum_agrees_with_bip_utils(private_key: bytes) -> None:
    key = public_key(Curve.SECP256K1, b"\0" + private_key[1:31] + b"\1")
    assert address(key, AddressFormat.ETHEREUM) == EthAddrEncoder.EncodeKey(key.compressed)


@settings(max_examples=50)
@given(zeros=st.integers(0, 32), tail=st.binary(max_size=32))
def test_solana_agrees_with_bip_utils(zeros: int, tail: bytes) -> None:
    encoded = (bytes(zeros) + tail + bytes(32))[:32]
    key = PublicKey(Curve.ED25519, encoded, None)
    assert address(key, AddressFormat.SOLANA) == Base58Encoder.Encode(encoded)


THEIRS: dict[AddressFormat, Callable[[bytes], str]] = {
    AddressFormat.BITCOIN_MAINNET_P2PKH: lambda key: P2PKHAddrEncoder.EncodeKey(key, net_ver=b"\x00"),
    AddressFormat.BITCOIN_TESTNET_P2WPKH: lambda key: P2WPKHAddrEncoder.EncodeKey(key, hrp="tb"),
    AddressFormat.BITCOIN_REGTEST_P2TR: lambda key: P2TRAddrEncoder.EncodeKey(key, hrp="bcrt"),
    AddressFormat.DOGE_MAINNET: lambda key: P2PKHAddrEncoder.EncodeKey(key, net_ver=b"\x1e"),
    AddressFormat.COSMOS: lambda key: AtomAddrEncoder.EncodeKey(key, hrp="cosmos"),
    AddressFormat.TRON: TrxAddrEncoder.EncodeKey,
    AddressFormat.XRP: XrpAddrEncoder.EncodeKey,
    AddressFormat.SUI: SuiAddrEncoder.EncodeKey,
    AddressFormat.XLM: lambda key: XlmAddrEncoder.EncodeKey(key, addr_type=XlmAddrTypes.PUB_KEY),
}


@pytest.mark.parametrize("address_format", THEIRS)
@settings(max_examples=20)
@given(private_key=st.binary(min_size=30, max_size=30))
def test_agrees_with_bip_utils(address_format: AddressFormat, private_key: bytes) -> None:
    (curve,) = (curve for curve, existing in EXISTING if existing is address_format)
    key = public_key(curve, b"\0" + private_key + b"\1")
    assert address(key, address_format) == THEIRS[address_format](key.compressed)
