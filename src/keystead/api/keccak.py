"""Keccak-256, as Ethereum has it: SHA-3 before its padding was changed. Pure.

Here because stamps, addresses and payloads need it. Every other hash is the standard library's.
"""

from __future__ import annotations


def keccak256(octets: bytes) -> bytes:
    """32 bytes."""
    # Imported on first use: a server is to start, and a client to stamp, without it.
    from Crypto.Hash import keccak

    return keccak.new(data=octets, digest_bits=256).digest()
