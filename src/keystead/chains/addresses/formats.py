"""Which address formats a curve has, the encoder of each, and the addresses of networks with accounts, also of TON.

Pure. Of TON's cells only the part that addresses need is here. Not here: Bitcoin and the networks like it
(`bitcoin`), how the key was derived.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from keystead.api.enums import AddressFormat, Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.addresses import bitcoin
from keystead.chains.addresses.bitcoin import hash160
from keystead.chains.addresses.text import base58, base58check, bech32, bech32m, crc16, eip55
from keystead.chains.curves import PublicKey
from keystead.primitives.keccak import keccak256

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


_STELLAR_ACCOUNT = bytes([6 << 3])
_SPARK_IDENTITY_KEY = b"\x0a\x21"  # field 1 of a protobuf message, 33 bytes


def compressed(key: PublicKey) -> str:
    return key.compressed.hex()


def uncompressed(key: PublicKey) -> str:
    assert key.uncompressed is not None
    return key.uncompressed.hex()


def ethereum(key: PublicKey) -> str:
    """With the letter case of EIP-55 as checksum."""
    return "0x" + eip55(_keccak_tail(key).hex())


def tron(key: PublicKey) -> str:
    return base58check(b"\x41" + _keccak_tail(key))


def _keccak_tail(key: PublicKey) -> bytes:
    """The last 20 bytes of Keccak-256 over x and y."""
    assert key.uncompressed is not None
    return keccak256(key.uncompressed[1:])[-20:]


def cosmos(key: PublicKey) -> str:
    return bech32("cosmos", hash160(key.compressed))


def sei(key: PublicKey) -> str:
    return bech32("sei", hash160(key.compressed))


def spark_mainnet(key: PublicKey) -> str:
    return bech32m("spark", _SPARK_IDENTITY_KEY + key.compressed)


def spark_regtest(key: PublicKey) -> str:
    return bech32m("sparkrt", _SPARK_IDENTITY_KEY + key.compressed)


def solana(key: PublicKey) -> str:
    return base58(key.compressed)


def sui(key: PublicKey) -> str:
    """BLAKE2b-256 over the flag of ed25519 and the key."""
    return "0x" + hashlib.blake2b(b"\x00" + key.compressed, digest_size=32).hexdigest()


def aptos(key: PublicKey) -> str:
    """SHA3-256 over the key and the scheme of one ed25519 key, leading zeros kept."""
    return "0x" + hashlib.sha3_256(key.compressed + b"\x00").hexdigest()


def stellar(key: PublicKey) -> str:
    """StrKey (SEP-23): version, key and CRC, the latter's lower byte first, in base 32."""
    payload = _STELLAR_ACCOUNT + key.compressed
    return base64.b32encode(payload + crc16(payload).to_bytes(2, "little")).decode().rstrip("=")


_Encoder = Callable[[PublicKey], str]
_K1: Final = Curve.SECP256K1
_ED: Final = Curve.ED25519

_ENCODERS: Mapping[AddressFormat, Mapping[Curve, _Encoder]] = {
    AddressFormat.UNCOMPRESSED: {_K1: uncompressed, Curve.P256: uncompressed},
    AddressFormat.COMPRESSED: dict.fromkeys((_K1, Curve.P256, _ED), compressed),
    AddressFormat.ETHEREUM: {_K1: ethereum},
    AddressFormat.SOLANA: {_ED: solana},
    AddressFormat.COSMOS: {_K1: cosmos},
    AddressFormat.SEI: {_K1: sei},
    AddressFormat.TRON: {_K1: tron},
    AddressFormat.XRP: {_K1: bitcoin.xrp},
    AddressFormat.DOGE_MAINNET: {_K1: bitcoin.doge_mainnet},
    AddressFormat.DOGE_TESTNET: {_K1: bitcoin.doge_testnet},
    AddressFormat.SPARK_MAINNET: {_K1: spark_mainnet},
    AddressFormat.SPARK_REGTEST: {_K1: spark_regtest},
    AddressFormat.SUI: {_ED: sui},
    AddressFormat.APTOS: {_ED: aptos},
    AddressFormat.XLM: {_ED: stellar},
    AddressFormat.TON_V3R2: {_ED: v3r2},
    AddressFormat.TON_V4R2: {_ED: v4r2},
    AddressFormat.TON_V5R1: {_ED: v5r1},
    **{address_format: {_K1: encoder} for address_format, encoder in bitcoin.encoders().items()},
}

_CAIP2_PREFIXES: Mapping[AddressFormat, str] = {
    AddressFormat.ETHEREUM: "eip155",
    AddressFormat.SOLANA: "solana",
}


def require_encodable(curve: Curve, address_format: AddressFormat) -> None:
    """Check, before any key exists, that `address` can encode addresses of this format.

    Raises InvalidRequest, its message starting with `invalid address format`, if the curve has no such addresses.
    """
    _encoder(curve, address_format)


def address(key: PublicKey, address_format: AddressFormat) -> str:
    """The address of `key` as its network writes it. Raises as `require_encodable` does."""
    return _encoder(key.curve, address_format)(key)


def caip2_prefix(address_format: AddressFormat) -> str | None:
    """The CAIP-2 namespace of the network of this format; None if the public API does not give one."""
    return _CAIP2_PREFIXES.get(address_format)


def _encoder(curve: Curve, address_format: AddressFormat) -> _Encoder:
    row = _ENCODERS[address_format]
    if curve not in row:
        raise InvalidRequest(
            f"invalid address format: {address_format} does not exist on {curve}; expected {' or '.join(row)}"
        )
    return row[curve]
