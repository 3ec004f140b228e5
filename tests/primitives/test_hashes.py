"""Keccak-256 and RIPEMD-160: published vectors, every length of the last block, an independent implementation."""

from __future__ import annotations

import pytest
from btclib.hashes import ripemd160 as their_ripemd160
from eth_hash.auto import keccak as their_keccak256

from keystead.primitives.keccak import keccak256
from keystead.primitives.ripemd160 import ripemd160

KECCAK256 = {
    b"": "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
    b"abc": "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
}
RIPEMD160 = {  # from the paper that defines it
    b"": "9c1185a5c5e9fc54612808977ee8f548b2258d31",
    b"a": "0bdc9d2d256b3ee9daae347be6f4dc835a467ffe",
    b"abc": "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc",
    b"message digest": "5d0689ef49d2fae572b881b123a85ffa21595f36",
    b"abcdefghijklmnopqrstuvwxyz": "f71c27109c692c1b56bbdceb5b9d2865b3708dbc",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq": "12a053384a9c0c88e405a06c27dcf49ada62eb2b",
    b"1234567890" * 8: "9b752e45573d4b39f4dbd3323cab82bf63326bfb",
}


@pytest.mark.parametrize("message", KECCAK256)
def test_keccak256(message: bytes) -> None:
    assert keccak256(message).hex() == KECCAK256[message]


@pytest.mark.parametrize("message", RIPEMD160)
def test_ripemd160(message: bytes) -> None:
    assert ripemd160(message).hex() == RIPEMD160[message]


def test_every_length_of_the_last_block() -> None:
    octets = bytes(range(256)) * 2
    for length in range(len(octets)):
        assert keccak256(octets[:length]) == their_keccak256(octets[:length])
        assert ripemd160(octets[:length]) == their_ripemd160(octets[:length])
