"""Addresses of TON: the hash of the wallet contract that a key would deploy, in the basic workchain.

Pure. Of TON's cells only the part that addresses need is here: the hash of an ordinary cell from its bits and from
the hashes and depths of its references. Addresses are written non-bounceable and in base64url, as wallets show
them.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

import msgspec

from keystead.chains.addresses.text import crc16
from keystead.chains.curves import PublicKey

_NON_BOUNCEABLE: Final = b"\x51"
_BASIC_WORKCHAIN: Final = b"\x00"
_SUBWALLET: Final = 698_983_191
"""The wallet id of versions 3 and 4 in the basic workchain."""

_V5_WALLET_ID: Final = 0x8000_0000 ^ (-239 & 0xFFFF_FFFF)
"""The wallet id of version 5: subwallet 0 of the basic workchain, on the main network, whose id is -239."""


class _Cell(msgspec.Struct, frozen=True):
    """The hash and depth of a cell, for cells that refer to it. Depth 0: it has no references."""

    hash: bytes
    depth: int


# The published code of each version, by its hash.
_V3R2 = _Cell(bytes.fromhex("84dafa449f98a6987789ba232358072bc0f76dc4524002a5d0918b9a75d2d599"), 0)
_V4R2 = _Cell(bytes.fromhex("feb5ff6820e2ff0d9483e7e0d62c817d846789fb4ae580c878866d959dabd5c0"), 7)
_V5R1 = _Cell(bytes.fromhex("20834b7b72b112147e1b2fb457b84e74d1a30f04f737d4f62a668e9552d2b72f"), 6)


def v3r2(key: PublicKey) -> str:
    return _address(_V3R2, _bits(0, 32) + _bits(_SUBWALLET, 32) + _key(key))


def v4r2(key: PublicKey) -> str:
    """The data of version 3, and no plugins."""
    return _address(_V4R2, _bits(0, 32) + _bits(_SUBWALLET, 32) + _key(key) + "0")


def v5r1(key: PublicKey) -> str:
    """Signatures are allowed; there are no extensions."""
    return _address(_V5R1, "1" + _bits(0, 32) + _bits(_V5_WALLET_ID, 32) + _key(key) + "0")


def _address(code: _Cell, data: str) -> str:
    # The state of a contract: no split depth, nothing special, code, data, no libraries.
    state = _cell("00110", code, _cell(data))
    payload = _NON_BOUNCEABLE + _BASIC_WORKCHAIN + state.hash
    return base64.urlsafe_b64encode(payload + crc16(payload).to_bytes(2)).decode()


def _bits(number: int, width: int) -> str:
    return f"{number:0{width}b}"


def _key(key: PublicKey) -> str:
    return _bits(int.from_bytes(key.compressed), 256)


def _cell(bits: str, *references: _Cell) -> _Cell:
    """An ordinary cell. Bits that do not fill a byte are padded with a one and zeros."""
    whole, rest = divmod(len(bits), 8)
    if rest:
        bits += "1" + "0" * (7 - rest)
    content = int(bits, 2).to_bytes(len(bits) // 8)
    descriptor = bytes([len(references), whole + len(content)])
    depths = b"".join(reference.depth.to_bytes(2) for reference in references)
    hashes = b"".join(reference.hash for reference in references)
    depth = max((reference.depth + 1 for reference in references), default=0)
    return _Cell(hashlib.sha256(descriptor + content + depths + hashes).digest(), depth)
