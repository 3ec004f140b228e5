"""Addresses of networks with accounts: Ethereum, Tron, Cosmos and Sei, Spark, Solana, Sui, Aptos, Stellar.

Pure. Not here: Bitcoin and the networks like it (`bitcoin`), TON, whose accounts are contracts (`ton`).
"""

from __future__ import annotations

import base64
import hashlib

from keystead.chains.addresses.bitcoin import hash160
from keystead.chains.addresses.text import base58, base58check, bech32, bech32m, crc16, eip55
from keystead.chains.curves import PublicKey
from keystead.primitives.keccak import keccak256

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
