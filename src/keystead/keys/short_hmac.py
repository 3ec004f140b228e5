"""HMAC (RFC 2104) of short messages under short keys, without letting other threads in between.

`hmac.digest` gives up the interpreter's lock for each call, and taking it again costs several times the hash where
another thread is at work. Here: those two hashes; `hashlib` does the work. Not here: what they are for.
"""

from __future__ import annotations

from hashlib import sha256, sha512
from typing import Final

_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))
_SHA256_BLOCK: Final = 64
_SHA512_BLOCK: Final = 128


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """32 bytes. Raises ValueError for a key of more than 64: it would have to be hashed first."""
    padded = _padded(key, _SHA256_BLOCK)
    return sha256(padded.translate(_OUTER) + sha256(padded.translate(_INNER) + message).digest()).digest()


def hmac_sha512(key: bytes, message: bytes) -> bytes:
    """64 bytes. Raises ValueError for a key of more than 128: it would have to be hashed first."""
    padded = _padded(key, _SHA512_BLOCK)
    return sha512(padded.translate(_OUTER) + sha512(padded.translate(_INNER) + message).digest()).digest()


def _padded(key: bytes, block: int) -> bytes:
    if len(key) > block:
        raise ValueError(f"a key of {len(key)} bytes is longer than a block of {block}")
    return key.ljust(block, b"\0")
