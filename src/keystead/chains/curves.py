"""The three curves: the encodings of their public keys.

Here: public keys alone. Not here: private keys (`keys`), signatures (`signatures`).
"""

from __future__ import annotations

import functools
from typing import Final, assert_never

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keystead.api.enums import Curve
from keystead.primitives import secp256k1
from keystead.primitives.p256 import ORDER as P256_ORDER

PRIVATE_KEY_BYTES: Final = 32

GROUP_ORDERS: Final = {
    Curve.SECP256K1: secp256k1.ORDER,
    Curve.P256: P256_ORDER,
}
"""Private keys of these curves are 1 to order - 1 (SEC 2); of ed25519 any 32 bytes are one (RFC 8032)."""


class PublicKey(msgspec.Struct, frozen=True):
    """A public key in the encodings that addresses use.

    `compressed`: the 33 bytes of SEC 1, or the 32 bytes of RFC 8032. `uncompressed`: the 65 bytes of SEC 1, or
    None on ed25519.
    """

    curve: Curve
    compressed: bytes
    uncompressed: bytes | None


@functools.lru_cache(maxsize=4096)
def decode_public_key(curve: Curve, encoded: bytes) -> PublicKey:
    """The public key from its 33 or 65 bytes of SEC 1, or from the 32 bytes of ed25519. Raises ValueError."""
    match curve:
        case Curve.SECP256K1:
            return PublicKey(curve, secp256k1.to_compressed(encoded), secp256k1.to_uncompressed(encoded))
        case Curve.P256:
            return public_key_of_p256(ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), encoded))
        case Curve.ED25519:
            return PublicKey(curve, ed25519.Ed25519PublicKey.from_public_bytes(encoded).public_bytes_raw(), None)
        case _:
            assert_never(curve)


def public_key_of_p256(key: ec.EllipticCurvePublicKey) -> PublicKey:
    """Both encodings of SEC 1."""
    return PublicKey(
        Curve.P256,
        key.public_bytes(Encoding.X962, PublicFormat.CompressedPoint),
        key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint),
    )
