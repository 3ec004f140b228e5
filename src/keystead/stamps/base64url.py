"""base64url as in stamps and passkeys: written without padding, read with or without it.

Not here: what the bytes mean, and the refusal (each reader has its own).
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64

# Strict decoding refuses NUL, so a text in the standard alphabet fails instead of being read as the other one.
_FROM_URL = bytes.maketrans(b"-_+/", b"+/\0\0")
_TO_URL = bytes.maketrans(b"+/", b"-_")


def decode_base64url(text: str | bytes) -> bytes:
    """The bytes of base64url `text` (RFC 4648 section 5), with or without trailing `=`.

    Raises ValueError for a character of another alphabet, such as `+` and `/`, and for a length that no encoding
    has.
    """
    data = text.encode("ascii") if isinstance(text, str) else text
    data = data.rstrip(b"=").translate(_FROM_URL)
    return a2b_base64(data + b"=" * (-len(data) % 4), strict_mode=True)


def encode_base64url(data: bytes) -> str:
    """`data` as base64url without padding."""
    return b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL).decode("ascii")
