"""RIPEMD-160, a hash of Bitcoin. Pure.

OpenSSL has this function among its legacy algorithms, which an installation may lack, so `hashlib` may not have
it. Implemented from Dobbertin, Bosselaers, Preneel: RIPEMD-160, a strengthened version of RIPEMD (1996). It takes
about 60 µs for each 64 bytes; callers hash public keys and short scripts.
"""

from __future__ import annotations

import struct
from typing import Final

_MASK: Final = 0xFFFFFFFF
_START: Final = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)
_BLOCK: Final = struct.Struct("<16I")
_DIGEST: Final = struct.Struct("<5I")


def _order(first: tuple[int, ...]) -> tuple[int, ...]:
    """The order in which the 80 steps read the 16 words: `first`, then four times permuted by rho."""
    rho = (7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8)
    rounds = [first]
    for _ in range(4):
        rounds.append(tuple(rho[word] for word in rounds[-1]))
    return tuple(word for words in rounds for word in words)


_LEFT_WORDS: Final = _order(tuple(range(16)))
_RIGHT_WORDS: Final = _order(tuple((9 * word + 5) % 16 for word in range(16)))

_SHIFTS: Final = (
    (11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8),
    (12, 13, 11, 15, 6, 9, 9, 7, 12, 15, 11, 13, 7, 8, 7, 7),
    (13, 15, 14, 11, 7, 7, 6, 8, 13, 14, 13, 12, 5, 5, 6, 9),
    (14, 11, 12, 14, 8, 6, 5, 5, 15, 12, 15, 14, 9, 9, 8, 6),
    (15, 12, 13, 13, 9, 5, 8, 6, 14, 11, 12, 11, 8, 6, 5, 5),
)
"""The rotation of each step in bits, by round and by the word that the step reads. Both lines use it."""

_LEFT_CONSTANTS: Final = (0, 0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xA953FD4E)
_RIGHT_CONSTANTS: Final = (0x50A28BE6, 0x5C4DD124, 0x6D703EF3, 0x7A6D76E9, 0)


def _steps(words: tuple[int, ...], constants: tuple[int, ...], *, reverse: bool) -> tuple[tuple[int, ...], ...]:
    """The 80 steps of a line: function, word, rotation, constant. The right line takes the functions in reverse."""
    return tuple(
        (4 - step // 16 if reverse else step // 16, word, _SHIFTS[step // 16][word], constants[step // 16])
        for step, word in enumerate(words)
    )


_LEFT: Final = _steps(_LEFT_WORDS, _LEFT_CONSTANTS, reverse=False)
_RIGHT: Final = _steps(_RIGHT_WORDS, _RIGHT_CONSTANTS, reverse=True)


def ripemd160(octets: bytes) -> bytes:
    """The 20 bytes of the digest."""
    padding = b"\x80" + bytes(-(len(octets) + 9) % 64)
    padded = octets + padding + struct.pack("<Q", 8 * len(octets))
    state = _START
    for block in _BLOCK.iter_unpack(padded):
        left, right = _line(state, block, _LEFT), _line(state, block, _RIGHT)
        state = tuple(  # type: ignore[assignment]  # five numbers
            (state[(n + 1) % 5] + left[(n + 2) % 5] + right[(n + 3) % 5]) & _MASK for n in range(5)
        )
    return _DIGEST.pack(*state)


def _line(
    state: tuple[int, ...], block: tuple[int, ...], steps: tuple[tuple[int, ...], ...]
) -> tuple[int, int, int, int, int]:
    a, b, c, d, e = state
    for function, word, shift, constant in steps:
        if function == 0:
            mixed = b ^ c ^ d
        elif function == 1:
            mixed = (b & c) | (~b & d)
        elif function == 2:
            mixed = (b | ~c) ^ d
        elif function == 3:
            mixed = (b & d) | (c & ~d)
        else:
            mixed = b ^ (c | ~d)
        total = (a + mixed + block[word] + constant) & _MASK
        rotated = ((total << shift) | (total >> (32 - shift))) + e & _MASK
        a, e, d, c, b = e, d, ((c << 10) | (c >> 22)) & _MASK, b, rotated
    return a, b, c, d, e
