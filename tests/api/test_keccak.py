"""Keccak-256 against the published test vectors of Keccak; SHA3-256 of the same octets differs."""

from __future__ import annotations

import hashlib

import pytest

from keystead.primitives.keccak import keccak256


@pytest.mark.parametrize(
    ("octets", "digest"),
    [
        (b"", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
        (b"abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"),
        (b"\xcc", "eead6dbfc7340a56caedc044696a168870549a6a7f6f56961e84a54bd9970b8a"),
    ],
)
def test_published_digests(octets: bytes, digest: str) -> None:
    assert keccak256(octets).hex() == digest
    assert hashlib.sha3_256(octets).hexdigest() != digest
