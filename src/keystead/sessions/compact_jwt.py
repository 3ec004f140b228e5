"""JSON Web Tokens in compact form (RFC 7515, section 7.1), as published clients read and write them.

Here: the text that is signed, adding the signature, parsing a token, verifying P-256 signatures. Not here: which
claims a token has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from keystead.stamps.base64url import decode_base64url, encode_base64url

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


SIGNATURE_BYTES = 64
"""r and s of ES256, 32 bytes each, big-endian (RFC 7518, section 3.4)."""

# Published clients decode the payload with the browser's `atob`, which does not accept `-` and `_`. In ASCII text
# only these characters can produce one of the two, and JSON allows each as an escape.
_ESCAPED = str.maketrans({"?": "\\u003f", ">": "\\u003e", "~": "\\u007e", "\x7f": "\\u007f"})


class MalformedToken(Exception):
    """A text is not a token of the expected form. The message says why and never holds the token."""


class CompactJwt(msgspec.Struct, frozen=True):
    """The decoded parts of a token. Nothing is verified. `signing_input` is the text before the last dot, in
    ASCII."""

    header: bytes
    payload: bytes
    signing_input: bytes
    signature: bytes


def signing_input(header: Mapping[str, str], claims: Mapping[str, Any]) -> bytes:
    """The ASCII text that the issuer signs: header and claims, each as base64url of compact JSON.

    Members keep the given order. The payload's text contains no `-` and no `_`.
    """
    header_json = json.dumps(header, separators=(",", ":"))
    claims_json = json.dumps(claims, separators=(",", ":")).translate(_ESCAPED)
    return f"{encode_base64url(header_json.encode())}.{encode_base64url(claims_json.encode())}".encode("ascii")


def with_signature(signed: bytes, signature: bytes) -> str:
    """The token: `signed`, a dot and the signature. `signature`: 64 bytes, r then s. Raises ValueError for another
    length."""
    if len(signature) != SIGNATURE_BYTES:
        raise ValueError(f"expected a signature of {SIGNATURE_BYTES} bytes, got {len(signature)}")
    return f"{signed.decode('ascii')}.{encode_base64url(signature)}"


def read_compact(token: str, *, characters_max: int) -> CompactJwt:
    """The parts of a token. `characters_max`: the most characters of `token`. Raises MalformedToken."""
    if len(token) > characters_max:
        raise MalformedToken(f"expected at most {characters_max} characters, got {len(token)}")
    parts = token.split(".")
    if len(parts) != 3:
        raise MalformedToken("expected a JWT: three parts separated by dots")
    try:
        header, payload, signature = map(decode_base64url, parts)
        signed = f"{parts[0]}.{parts[1]}".encode("ascii")
    except ValueError:
        raise MalformedToken("expected a JWT: three parts of base64url") from None
    if len(signature) != SIGNATURE_BYTES:
        raise MalformedToken(f"expected a signature of {SIGNATURE_BYTES} bytes, got {len(signature)}")
    return CompactJwt(header, payload, signed, signature)
