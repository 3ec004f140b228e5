"""Computes the public key of a private key, on each of the three curves. Makes new keys of P-256.

Here: the computation, with libsecp256k1 and OpenSSL for the point arithmetic. Not here: derivation, signatures,
encodings of public keys (`chains.curves`).
"""

from __future__ import annotations

from typing import assert_never

from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from keystead.api.enums import Curve
from keystead.chains.curves import GROUP_ORDERS, PRIVATE_KEY_BYTES, PublicKey, public_key_of_p256
from keystead.primitives import secp256k1


def public_key(curve: Curve, private_key: bytes) -> PublicKey:
    """The public key of a private key of 32 bytes: a big-endian scalar, or on ed25519 the seed of RFC 8032.

    Raises ValueError for any other length, and for a scalar that is zero or not below the group order.
    """
    if len(private_key) != PRIVATE_KEY_BYTES:
        raise ValueError(f"a private key of {curve} has {PRIVATE_KEY_BYTES} bytes, not {len(private_key)}")
    order = GROUP_ORDERS.get(curve)
    if order is not None and not 0 < int.from_bytes(private_key) < order:
        raise ValueError(f"a private key of {curve} is above zero and below the order of the group")
    match curve:
        case Curve.SECP256K1:
            compressed = secp256k1.public_key(private_key)
            return PublicKey(curve, compressed, secp256k1.to_uncompressed(compressed))
        case Curve.P256:
            return public_key_of_p256(
                ec.derive_private_key(int.from_bytes(private_key), ec.SECP256R1()).public_key()
            )
        case Curve.ED25519:
            edwards = ed25519.Ed25519PrivateKey.from_private_bytes(private_key).public_key()
            return PublicKey(curve, edwards.public_bytes_raw(), None)
        case _:
            assert_never(curve)


def new_p256_key() -> tuple[bytes, PublicKey]:
    """A new private key of 32 bytes, and its public key. The randomness comes from the operating system."""
    key = ec.generate_private_key(ec.SECP256R1())
    secret = key.private_numbers().private_value.to_bytes(PRIVATE_KEY_BYTES)
    return secret, public_key_of_p256(key.public_key())
