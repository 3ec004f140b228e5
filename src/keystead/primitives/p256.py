"""The recovery id of a P-256 signature: which of two points it was made with, computed from public values.

Curve arithmetic is done by OpenSSL's verification. No value here is secret, so constant time is not needed. Not
here: signing (`keys`).
"""

from __future__ import annotations

import functools
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ORDER: Final = 0xFFFFFFFF_00000000_FFFFFFFF_FFFFFFFF_BCE6FAAD_A7179E84_F3B9CAC2_FC632551
_FIELD: Final = 2**256 - 2**224 + 2**192 + 2**96 - 1
_CURVE: Final = ec.SECP256R1()
_ECDSA: Final = ec.ECDSA(Prehashed(hashes.SHA256()))


def recovery_id(public_key: ec.EllipticCurvePublicKey, digest: bytes, r: int, s: int) -> int:
    """The parity of y of the nonce point R (SEC 1, section 4.1.6): 0 or 1, for a signature that verifies.

    `digest`: 32 bytes. Raises ValueError if no point has the x coordinate r. This includes a nonce point whose x
    is not below the order (a chance of 2^-128), which the recovery ids 0 and 1 cannot express.

    The signature means s*R = e*G + r*Q. Therefore, for any c, the point T = Q + c*G equals (s/r)*R + (c - e/r)*G.
    To test this equation for the R of even y, verify a signature under the public key R whose r is the x of T.
    """
    even_key = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, b"\2" + r.to_bytes(32))
    c, x = _offset_point(public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))
    scale = x * r * pow(s, -1, ORDER) % ORDER
    value = (c - int.from_bytes(digest) * pow(r, -1, ORDER)) * scale % ORDER
    try:
        even_key.verify(encode_dss_signature(x, scale), value.to_bytes(32), _ECDSA)
    except InvalidSignature:
        return 1
    return 0


@functools.lru_cache(maxsize=4_096)
def _offset_point(public_key: bytes) -> tuple[int, int]:
    """A small c, and the x of Q + c*G modulo the order. `public_key`: the 65 bytes of Q.

    c is 1, or 2 if Q + G is the point at infinity. With c = 0, both R would satisfy the equation for the digest 0.
    """
    x, y = int.from_bytes(public_key[1:33]), int.from_bytes(public_key[33:])
    base = ec.derive_private_key(1, _CURVE).public_key().public_numbers()
    if x != base.x:
        slope = (y - base.y) * pow(x - base.x, -1, _FIELD)
    elif y == base.y:
        slope = (3 * x * x - 3) * pow(2 * y, -1, _FIELD)
    else:  # Q = -G, and Q + 2*G = G
        return 2, base.x % ORDER
    return 1, (slope * slope - x - base.x) % _FIELD % ORDER
