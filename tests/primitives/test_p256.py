"""Recovery ids of P-256 against the nonce, which only the signer knows, and what is refused."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keystead.primitives.p256 import ORDER, recovery_id


@settings(max_examples=60)
@given(st.integers(1, ORDER - 1), st.binary(min_size=32, max_size=32))
@example(1, bytes(32))
@example(ORDER - 1, bytes(32))
@example(ORDER - 2, ORDER.to_bytes(32))
@example(2, b"\xff" * 32)
def test_the_parity_of_the_nonce_point(scalar: int, digest: bytes) -> None:
    key = ec.derive_private_key(scalar, ec.SECP256R1())
    r, s = decode_dss_signature(key.sign(digest, ec.ECDSA(Prehashed(hashes.SHA256()))))
    for half in (s, ORDER - s):
        nonce = pow(half, -1, ORDER) * (int.from_bytes(digest) + r * scalar) % ORDER
        point = ec.derive_private_key(nonce, ec.SECP256R1()).public_key().public_numbers()
        assert recovery_id(key.public_key(), digest, r, half) == point.y & 1


def test_no_such_point() -> None:
    key = ec.derive_private_key(1, ec.SECP256R1()).public_key()
    x = next(number for number in range(1, 100) if not is_x(number))
    with pytest.raises(ValueError, match=r"."):
        recovery_id(key, bytes(32), x, 1)


def is_x(number: int) -> bool:
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\2" + number.to_bytes(32))
    except ValueError:
        return False
    return True
