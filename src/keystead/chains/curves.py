"""The three curves: from a private key to its public key.

Pure. Point arithmetic is left to libsecp256k1 (coincurve) and OpenSSL (cryptography). Not here: derivation,
signatures.
"""

from __future__ import annotations

import functools
from typing import Final, assert_never

import coincurve
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keystead.api.enums import Curve

PRIVATE_KEY_BYTES: Final = 32

GROUP_ORDERS: Final = {
    Curve.SECP256K1: 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141,
    Curve.P256: 0xFFFFFFFF_00000000_FFFFFFFF_FFFFFFFF_BCE6FAAD_A7179E84_F3B9CAC2_FC632551,
}
"""Private keys of these curves are 1 to order - 1 (SEC 2); of ed25519 any 32 bytes are one (RFC 8032)."""


class PublicKey(msgspec.Struct, frozen=True):
    """A public key in the encodings addresses are made of.

    `compressed`: the 33 bytes of SEC 1, or the 32 bytes of RFC 8032. `uncompressed`: the 65 bytes of SEC 1, or
    None on ed25519, which has no such form.
    """

    curve: Curve
    compressed: bytes
    uncompressed: bytes | None


@functools.lru_cache(maxsize=4096)
def decoded_public_key(curve: Curve, encoded: bytes) -> PublicKey:
    """The public key of its 33 or 65 bytes of SEC 1, or of the 32 bytes of ed25519. Raises ValueError."""
    match curve:
        case Curve.SECP256K1:
            k1 = coincurve.PublicKey(encoded)
            return PublicKey(curve, k1.format(), k1.format(compressed=False))
        case Curve.P256:
            return _of_p256(ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), encoded))
        case Curve.ED25519:
            return PublicKey(curve, ed25519.Ed25519PublicKey.from_public_bytes(encoded).public_bytes_raw(), None)
        case _:
            assert_never(curve)


def public_key(curve: Curve, private_key: bytes) -> PublicKey:
    """The public key of 32 bytes: a big-endian scalar, or on ed25519 the seed of RFC 8032.

    Raises ValueError for another length, or a scalar that is zero or not below the group order.
    """
    if len(private_key) != PRIVATE_KEY_BYTES:
        raise ValueError(f"a private key of {curve} has {PRIVATE_KEY_BYTES} bytes, not {len(private_key)}")
    order = GROUP_ORDERS.get(curve)
    if order is not None and not 0 < int.from_bytes(private_key) < order:
        raise ValueError(f"a private key of {curve} is above zero and below the order of the group")
    match curve:
        case Curve.SECP256K1:
            k1 = coincurve.PublicKey.from_valid_secret(private_key)
            return PublicKey(curve, k1.format(), k1.format(compressed=False))
        case Curve.P256:
            return _of_p256(ec.derive_private_key(int.from_bytes(private_key), ec.SECP256R1()).public_key())
        case Curve.ED25519:
            edwards = ed25519.Ed25519PrivateKey.from_private_bytes(private_key).public_key()
            return PublicKey(curve, edwards.public_bytes_raw(), None)
        case _:
            assert_never(curve)


def _of_p256(key: ec.EllipticCurvePublicKey) -> PublicKey:
    return PublicKey(
        Curve.P256,
        key.public_bytes(Encoding.X962, PublicFormat.CompressedPoint),
        key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint),
    )
