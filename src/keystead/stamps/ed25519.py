"""Ed25519 public keys that must not be credentials, because anybody can make signatures that verify under them.

Under a point of low order, one signature is valid for every message, or for every eighth one. An encoding that is
not canonical stands for a point that has another encoding too. Libraries accept both (RFC 8032 allows it).
"""

from __future__ import annotations

from typing import Final

_P: Final = 2**255 - 19
_SIGN_BIT: Final = 1 << 255

_ORDER_8_Y: Final = 0x05FC536D_880238B1_3933C6D3_05ACDFD5_F098EFF2_89F4C345_B027B2C2_8F95E826
_LOW_ORDER_Y: Final = frozenset({0, 1, _P - 1, _ORDER_8_Y, _P - _ORDER_8_Y})
"""The y coordinates of the eight points whose order divides 8; with either sign of x."""


def check_public_key(key: bytes) -> None:
    """Raise ValueError for a point of low order, and for an encoding that is not canonical. `key`: 32 bytes.

    Whether the bytes are a point is not checked here: the library that verifies a signature checks it.
    """
    y = int.from_bytes(key, "little") & ~_SIGN_BIT
    if y >= _P:
        raise ValueError("the encoding of the Ed25519 key is not canonical")
    if y in _LOW_ORDER_Y:
        raise ValueError("the Ed25519 key is a point of low order")
