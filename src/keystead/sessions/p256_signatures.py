"""P-256 signatures over SHA-256 as r and s of 32 bytes each, the form in tokens and client signatures.

Here: verification with public keys. Not here: signing (`signer`), DER signatures of stamps (`stamps`).
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

_SHA256 = ECDSA(SHA256())


def is_signed_by(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` (64 bytes, r then s) is a signature of this key over SHA-256 of `message`.

    `public_key`: a SEC 1 point of 33 or 65 bytes. False also for a key that is not a point of the curve.
    """
    if len(signature) != 64:
        return False
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    try:
        key = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), public_key)
        key.verify(encode_dss_signature(r, s), message, _SHA256)
    except (InvalidSignature, ValueError):
        return False
    return True
