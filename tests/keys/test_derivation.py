"""Derivation: the vectors of BIP-32 and SLIP-10, wallet accounts, and random paths against bip_utils."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bip_utils import Base58Decoder, Bip32Slip10Ed25519, Bip32Slip10Nist256p1, Bip32Slip10Secp256k1
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.enums import Curve
from keystead.chains.curves import GROUP_ORDERS
from keystead.chains.paths import HARDENED, effective_segments, parse_path, path_text
from keystead.keys import derivation
from keystead.keys.derivation import KnownParents, derive_private_key
from keystead.keys.public_keys import public_key
from tests.support.examples import examples

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "addresses.json").read_bytes())

SEED_1 = "000102030405060708090a0b0c0d0e0f"
SEED_2 = (
    "fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a2"
    "9f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542"
)

BIP32 = [
    (vector["seed"], key["path"], key["xprv"])
    for vector in json.loads(Path(__file__).with_name("bip32.json").read_bytes())["vectors"]
    for key in vector["keys"]
]


@pytest.mark.parametrize(("seed", "path", "xprv"), BIP32)
def test_bip32_vector(seed: str, path: str, xprv: str) -> None:
    # version (4), depth (1), parent (4), number (4), chain code (32), zero (1), key (32)
    expected = Base58Decoder.CheckDecode(xprv)[46:]
    assert derive_private_key(Curve.SECP256K1, bytes.fromhex(seed), _segments(path)) == expected


class Slip10(NamedTuple):
    name: str
    curve: Curve
    seed: str
    path: str
    private_key: str


P256 = Curve.P256
ED25519 = Curve.ED25519
SLIP10 = [
    Slip10("master", P256, SEED_1, "m", "612091aaa12e22dd2abef664f8a01a82cae99ad7441b7ef8110424915c268bc2"),
    Slip10("hardened", P256, SEED_1, "m/0'", "6939694369114c67917a182c59ddb8cafc3004e63ca5d3b84403ba8613debc0c"),
    Slip10(
        "five segments",
        P256,
        SEED_1,
        "m/0'/1/2'/2/1000000000",
        "21c4f269ef0a5fd1badf47eeacebeeaa3de22eb8e5b0adcd0f27dd99d34d0119",
    ),
    Slip10("master", P256, SEED_2, "m", "eaa31c2e46ca2962227cf21d73a7ef0ce8b31c756897521eb6c7b39796633357"),
    Slip10(
        "five segments",
        P256,
        SEED_2,
        "m/0/2147483647'/1/2147483646'/2",
        "bb0a77ba01cc31d77205d51d08bd313b979a71ef4de9b062f8958297e746bd67",
    ),
    Slip10(
        "step retried", P256, SEED_1, "m/28578'", "06f0db126f023755d0b8d86d4591718a5210dd8d024e3e14b6159d63f53aa669"
    ),
    Slip10(
        "unhardened step retried",
        P256,
        SEED_1,
        "m/28578'/33941",
        "092154eed4af83e078ff9b84322015aefe5769e31270f62c3f66c33888335f3a",
    ),
    Slip10(
        "master retried",
        P256,
        "a7305bc8df8d0951f0cb224c0e95d7707cbdf2c6ce7e8d481fec69c7ff5e9446",
        "m",
        "3b8c18469a4634517d6d0b65448f8e6c62091b45540a1743c5846be55d47d88f",
    ),
    Slip10("master", ED25519, SEED_1, "m", "2b4be7f19ee27bbf30c667b642d5f4aa69fd169872f8fc3059c08ebae2eb19e7"),
    Slip10("hardened", ED25519, SEED_1, "m/0'", "68e0fe46dfb67e368c75379acec591dad19df3cde26e63b93a8e704f1dade7a3"),
    Slip10(
        "hardening implied",
        ED25519,
        SEED_1,
        "m/0/1'/2/2'/1000000000",
        "8f94d394a8e8fd6b1bc2f3f49f5c47e385281d5c17e65324b0f62483e37e8793",
    ),
]


@pytest.mark.parametrize("case", SLIP10, ids=lambda case: f"{case.curve}: {case.name}")
def test_slip10_vector(case: Slip10) -> None:
    derived = derive_private_key(case.curve, bytes.fromhex(case.seed), _segments(case.path))
    assert derived.hex() == case.private_key


ACCOUNTS = VECTORS["walletAccounts"]


@pytest.mark.parametrize("vector", ACCOUNTS, ids=lambda v: f"{v['addressFormat']} {v['path']}")
def test_wallet_account(vector: dict[str, Any]) -> None:
    curve = Curve(vector["curve"])
    requested = vector.get("requestedPath", vector["path"])
    private_key = derive_private_key(curve, bytes.fromhex(VECTORS["seed"]), parse_path(requested))
    assert private_key.hex() == vector["privateKey"]
    _assert_public_key(curve, private_key, vector)


@pytest.mark.parametrize("vector", VECTORS["rawPrivateKeys"], ids=lambda vector: vector["curve"])
def test_raw_private_key(vector: dict[str, Any]) -> None:
    _assert_public_key(Curve(vector["curve"]), bytes.fromhex(vector["privateKey"]), vector)


def _assert_public_key(curve: Curve, private_key: bytes, vector: dict[str, Any]) -> None:
    key = public_key(curve, private_key)
    assert key.curve is curve
    if curve is ED25519:
        assert (key.compressed.hex(), key.uncompressed) == (vector["publicKey"], None)
    else:
        assert key.uncompressed is not None
        assert key.compressed.hex() == vector["publicKeyCompressed"]
        assert key.uncompressed.hex() == vector["publicKeyUncompressed"]


NOT_PRIVATE_KEYS = [
    (curve, key)
    for curve in Curve
    for key in [b"", bytes(31), bytes(33)]
    + ([] if curve is ED25519 else [bytes(32), GROUP_ORDERS[curve].to_bytes(32), b"\xff" * 32])
]


@pytest.mark.parametrize(("curve", "key"), NOT_PRIVATE_KEYS)
def test_not_a_private_key(curve: Curve, key: bytes) -> None:
    with pytest.raises(ValueError, match="private key of CURVE_") as refusal:
        public_key(curve, key)
    assert key.hex() not in str(refusal.value) or not key


@pytest.mark.parametrize("curve", GROUP_ORDERS)
def test_the_largest_scalar_is_a_private_key(curve: Curve) -> None:
    one = public_key(curve, (1).to_bytes(32)).compressed
    largest = public_key(curve, (GROUP_ORDERS[curve] - 1).to_bytes(32)).compressed
    assert largest[1:] == one[1:], "the largest scalar is the negative of one: same x, other y"
    assert largest[0] != one[0]


REFERENCES = {
    Curve.SECP256K1: Bip32Slip10Secp256k1,
    Curve.P256: Bip32Slip10Nist256p1,
    Curve.ED25519: Bip32Slip10Ed25519,
}


@pytest.mark.parametrize("curve", Curve)
@settings(max_examples=examples(40))
@given(
    seed=st.binary(min_size=64, max_size=64),
    segments=st.lists(st.integers(0, 2 * HARDENED - 1), min_size=1, max_size=6),
)
def test_random_paths_agree_with_bip_utils(curve: Curve, seed: bytes, segments: list[int]) -> None:
    path = path_text(effective_segments(curve, segments))
    expected = REFERENCES[curve].FromSeedAndPath(seed, path)
    private_key = derive_private_key(curve, seed, segments)
    assert private_key == expected.PrivateKey().Raw().ToBytes()
    assert (
        public_key(curve, private_key).compressed
        == expected.PublicKey().RawCompressed().ToBytes()[-33 + (curve is ED25519) :]
    )


def _segments(path: str) -> tuple[int, ...]:
    return () if path == "m" else parse_path(path)


@settings(max_examples=examples(30))
@given(
    st.sampled_from(list(Curve)),
    st.lists(st.lists(st.sampled_from([0, 1, HARDENED, HARDENED | 1]), max_size=4), max_size=8),
)
def test_known_parents_lead_to_the_same_keys(curve: Curve, paths: list[list[int]]) -> None:
    """Two wallets whose paths share their beginnings."""
    parents = KnownParents()
    for path in paths:
        for seed in (bytes(16), b"\xff" * 16):
            known = derive_private_key(curve, seed, path, parents.of(seed))
            assert known == derive_private_key(curve, seed, path)


def test_known_parents_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one used longest ago goes first."""
    computed: list[tuple[int, ...]] = []

    def computed_parent(_: Curve, path: tuple[int, ...], private_key: bytes) -> bytes:
        computed.append(path)
        return private_key

    monkeypatch.setattr(derivation, "computed_parent", computed_parent)
    monkeypatch.setattr(derivation, "PARENTS_KEPT", 2)
    parent_of = KnownParents().of(b"wallet")
    for number in (1, 2, 1, 3, 1, 2):
        parent_of(Curve.P256, (number,), bytes(33))
    assert computed == [(1,), (2,), (3,), (2,)]
