"""The bounds of `identities` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

ISSUER_KEYS_MAX: Final[Annotated[int, Bound("keys", "Issuers publish a few keys.")]] = 100
ISSUER_RSA_BITS_MIN: Final[Annotated[int, Bound("bits", "RFC 7518 requires it.")]] = 2048
ISSUER_RSA_BITS_MAX: Final[Annotated[int, Bound("bits", "It bounds the time of a verification.")]] = 8192
ID_TOKEN_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "ID tokens have some 1,000 characters."),
    ]
] = 16_384
ANSWER_BYTES_MAX: Final[Annotated[int, Bound("bytes", "An answer of an issuer is held in memory.")]] = 262_144
