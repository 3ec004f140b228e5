"""The public keys of passkeys: COSE_Key maps in CBOR, of the two kinds that clients of this API register.

Not here: signatures made with them (`webauthn`), and the attestation of a new one (`attestation`).
"""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePublicKey,
    EllipticCurvePublicNumbers,
)
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey, RSAPublicNumbers
from webauthn.helpers import parse_cbor
from webauthn.helpers.exceptions import InvalidCBORData

from keystead.stamps.bounds import COSE_KEY_BYTES_MAX, PASSKEY_RSA_BITS_MAX, PASSKEY_RSA_BITS_MIN
from keystead.stamps.cbor import plain_item_end

# Labels and values of RFC 9053 and RFC 8230. The meaning of labels from -1 down depends on the key type.
_KTY, _ALG = 1, 3
_EC2, _RSA = 2, 3
_ES256, _RS256 = -7, -257
_P256 = 1


def load_cose_key(cose: bytes) -> EllipticCurvePublicKey | RSAPublicKey:
    """The key in `cose`, ready to verify: ES256 on P-256, or RS256.

    Raises ValueError for any other kind, a point that is not on the curve, an RSA modulus outside 2048 to 4096
    bits, and bytes that are not a COSE_Key.
    """
    if len(cose) > COSE_KEY_BYTES_MAX:
        raise ValueError(f"the COSE key has {len(cose)} bytes; at most {COSE_KEY_BYTES_MAX} are allowed")
    try:
        plain_item_end(cose)
        key = parse_cbor(cose)
    except (InvalidCBORData, ValueError) as exc:
        raise ValueError("the COSE key is not CBOR as authenticators write it") from exc
    if not isinstance(key, dict):
        raise ValueError("the COSE key is not a map")  # noqa: TRY004 - the data of a caller is wrong, not the type of an argument
    kind = (key.get(_KTY), key.get(_ALG))
    if kind == (_EC2, _ES256):
        return _ec2(key)
    if kind == (_RSA, _RS256):
        return _rsa(key)
    raise ValueError(
        f"key type {kind[0]!r} with algorithm {kind[1]!r}: only ES256 (-7) and RS256 (-257) are supported"
    )


def _ec2(key: dict[Any, Any]) -> EllipticCurvePublicKey:
    curve, x, y = key.get(-1), key.get(-2), key.get(-3)
    if curve != _P256:
        raise ValueError(f"the ES256 key is on curve {curve!r}; only P-256 (1) is supported")
    if not (isinstance(x, bytes) and isinstance(y, bytes) and len(x) == len(y) == 32):
        raise ValueError("an ES256 key needs x and y of 32 bytes each")
    return EllipticCurvePublicNumbers(int.from_bytes(x, "big"), int.from_bytes(y, "big"), SECP256R1()).public_key()


def _rsa(key: dict[Any, Any]) -> RSAPublicKey:
    n, e = key.get(-1), key.get(-2)
    if not (isinstance(n, bytes) and isinstance(e, bytes) and len(e) <= 4):
        raise ValueError("an RS256 key needs a modulus and an exponent of at most 4 bytes")
    modulus = int.from_bytes(n, "big")
    if not PASSKEY_RSA_BITS_MIN <= modulus.bit_length() <= PASSKEY_RSA_BITS_MAX:
        raise ValueError(
            f"the RS256 modulus has {modulus.bit_length()} bits; "
            f"{PASSKEY_RSA_BITS_MIN} to {PASSKEY_RSA_BITS_MAX} are supported"
        )
    return RSAPublicNumbers(int.from_bytes(e, "big"), modulus).public_key()
