"""JSON Web Tokens in compact form (RFC 7515, section 7.1), as published clients read and write them.

Here: the text that is signed, adding the signature, parsing a token. Not here: which claims a token has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from keystead.stamps.base64url import decode_base64url, encode_base64url

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
