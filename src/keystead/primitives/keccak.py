"""Keccak-256, as Ethereum uses it: SHA-3 before its padding was changed. Pure.

Here: the one import of `tiny_keccak`. Not here: what is hashed.
"""

from __future__ import annotations

import tiny_keccak


def keccak256(octets: bytes) -> bytes:
    """The 32 bytes of the digest."""
    return tiny_keccak.keccak256(octets)
