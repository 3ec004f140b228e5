"""Taproot output keys (BIP-341), from public keys alone.

Here: the output key without a script tree. Not here: the private key that signs for it (`keys.signatures`).
"""

from __future__ import annotations

import functools
import hashlib
from typing import Final

from keystead.primitives import secp256k1

OUTPUT_KEYS_CACHED_MAX: Final = 4_096
"""How many output keys are cached. Computing one takes a point addition."""


@functools.lru_cache(maxsize=OUTPUT_KEYS_CACHED_MAX)
def taproot_public_key(internal_key: bytes) -> bytes:
    """The output key of an internal key (32 bytes, x only) without scripts, as 33 bytes of SEC 1."""
    return secp256k1.add_scalar(b"\x02" + internal_key, taproot_tweak(internal_key))


def taproot_tweak(internal_key: bytes) -> bytes:
    """The 32 bytes, a big-endian scalar, that are added to an internal key (32 bytes, x only) without scripts."""
    tag = hashlib.sha256(b"TapTweak").digest()
    return hashlib.sha256(tag + tag + internal_key).digest()
