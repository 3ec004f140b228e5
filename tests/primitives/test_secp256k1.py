"""secp256k1 against the library's own Python functions and a pure Python implementation, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from ecdsa import SECP256k1, SigningKey
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.primitives import secp256k1
from tests.support import secp256k1 as theirs

PRIVATE_KEYS = st.integers(1, secp256k1.ORDER - 1).map(lambda number: number.to_bytes(32))
BYTES_32 = st.binary(min_size=32, max_size=32)
ONE, DIGEST = (1).to_bytes(32), bytes(range(32))
ORDER = secp256k1.ORDER.to_bytes(32)
GENERATOR = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


def test_the_generator() -> None:
    assert secp256k1.public_key(ONE).hex() == GENERATOR


@settings(max_examples=25)
@given(PRIVATE_KEYS, BYTES_32)
def test_keys_and_signatures(private_key: bytes, digest: bytes) -> None:
    public_key = secp256k1.public_key(private_key)
    pure = SigningKey.from_string(private_key, curve=SECP256k1).verifying_key
    assert public_key == pure.to_string("compressed")
    assert secp256k1.to_uncompressed(public_key) == pure.to_string("uncompressed")
    assert secp256k1.to_compressed(secp256k1.to_uncompressed(public_key)) == public_key
    signature, recovery_id = secp256k1.sign_recoverable(private_key, digest)
    assert signature + bytes([recovery_id]) == theirs.sign_recoverable(private_key, digest)
    assert pure.verify_digest(signature, digest)
    assert secp256k1.verifies(public_key, signature, digest)
    assert not secp256k1.verifies(public_key, signature, digest[::-1] + b"\0")
    schnorr = secp256k1.sign_schnorr(private_key, digest, DIGEST)
    assert theirs.verifies_schnorr(public_key[1:], schnorr, digest)
    assert secp256k1.verifies_schnorr(public_key[1:], schnorr, digest)
    assert not secp256k1.verifies_schnorr(public_key[1:], schnorr[::-1], digest)


def test_adding_a_scalar_does_not_change_the_cached_key() -> None:
    """The parsed key is kept, and the library adds in place."""
    three = (3).to_bytes(32)
    for _ in range(2):
        assert secp256k1.add_scalar(secp256k1.public_key(ONE), (2).to_bytes(32)) == secp256k1.public_key(three)
    assert secp256k1.to_uncompressed(bytes.fromhex(GENERATOR))[1:33].hex() == GENERATOR[2:]


@pytest.mark.parametrize("signature", [b"", bytes(64), b"\xff" * 64, bytes(65)], ids=len)
def test_what_is_not_a_signature_does_not_verify(signature: bytes) -> None:
    assert not secp256k1.verifies(bytes.fromhex(GENERATOR), signature, DIGEST)
    assert not secp256k1.verifies_schnorr(bytes.fromhex(GENERATOR)[1:], signature, DIGEST)


def test_a_signature_with_a_high_s_does_not_verify() -> None:
    signature, _ = secp256k1.sign_recoverable(ONE, DIGEST)
    high = signature[:32] + (secp256k1.ORDER - int.from_bytes(signature[32:])).to_bytes(32)
    assert not secp256k1.verifies(bytes.fromhex(GENERATOR), high, DIGEST)


@dataclass
class Refused:
    name: str
    call: Callable[[], object]


REFUSED = [
    Refused("a private key of zero", lambda: secp256k1.public_key(bytes(32))),
    Refused("a private key that is the order", lambda: secp256k1.public_key(ORDER)),
    Refused("a private key of 31 bytes", lambda: secp256k1.public_key(bytes(31))),
    Refused("signing with zero", lambda: secp256k1.sign_recoverable(bytes(32), DIGEST)),
    Refused("signing with 33 bytes", lambda: secp256k1.sign_recoverable(bytes(33), DIGEST)),
    Refused("signing 31 bytes", lambda: secp256k1.sign_recoverable(ONE, bytes(31))),
    Refused("Schnorr with the order", lambda: secp256k1.sign_schnorr(ORDER, DIGEST, DIGEST)),
    Refused("Schnorr without randomness", lambda: secp256k1.sign_schnorr(ONE, DIGEST, b"")),
    Refused("a public key that is empty", lambda: secp256k1.to_compressed(b"")),
    Refused("a public key off the curve", lambda: secp256k1.to_compressed(b"\x02" + bytes(32))),
    Refused("a public key of 34 bytes", lambda: secp256k1.to_uncompressed(bytes.fromhex(GENERATOR) + b"\0")),
    Refused("an x that has no point", lambda: secp256k1.verifies_schnorr(bytes(32), bytes(64), DIGEST)),
    Refused("adding the order", lambda: secp256k1.add_scalar(bytes.fromhex(GENERATOR), ORDER)),
    Refused(
        "a sum at infinity",
        lambda: secp256k1.add_scalar(bytes.fromhex(GENERATOR), (secp256k1.ORDER - 1).to_bytes(32)),
    ),
]


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.name)
def test_refused(refused: Refused) -> None:
    with pytest.raises(ValueError, match=r"secp256k1|32 bytes|order of the group"):
        refused.call()
