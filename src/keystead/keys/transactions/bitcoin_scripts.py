"""Bitcoin's output scripts: which kinds there are, whose key each pays to, the address a network gives it.

Here: P2PKH, P2SH, P2WPKH, P2WSH, P2TR (BIP-16, 141, 341), base 58 with checksum, bech32 and bech32m (BIP-173, 350).
Not here: running scripts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from keystead.api.enums import AddressFormat
from keystead.keys.addresses import base58check

OP_CODESEPARATOR: Final = 0xAB

P2PKH, P2SH, P2WPKH, P2WSH, P2TR = "P2PKH", "P2SH", "P2WPKH", "P2WSH", "P2TR"


class Network(msgspec.Struct, frozen=True):
    """How a network's addresses begin: two version bytes of base 58, one word of bech32."""

    p2pkh: bytes
    p2sh: bytes
    bech32: str


_TEST = Network(b"\x6f", b"\xc4", "tb")
_NETWORKS: Final = {
    "MAINNET": Network(b"\x00", b"\x05", "bc"),
    "TESTNET": _TEST,
    "SIGNET": _TEST,
    "REGTEST": Network(b"\x6f", b"\xc4", "bcrt"),
}


def network_and_kind(address_format: AddressFormat | None) -> tuple[Network, str] | None:
    """What ADDRESS_FORMAT_BITCOIN_<network>_<kind> names; None for a format of another chain."""
    chain, _, named = (address_format or "").removeprefix("ADDRESS_FORMAT_").partition("_")
    network, _, kind = named.partition("_")
    return (_NETWORKS[network], kind) if chain == "BITCOIN" else None


def hash160(data: bytes) -> bytes:
    from Crypto.Hash import RIPEMD160  # OpenSSL keeps it among its legacy algorithms, which may be absent

    return bytes(RIPEMD160.new(hashlib.sha256(data).digest()).digest())


def tagged_hash(tag: str, data: bytes) -> bytes:
    """BIP-340: SHA-256 with the tag's own hash twice in front."""
    prefix = hashlib.sha256(tag.encode()).digest()
    return hashlib.sha256(prefix + prefix + data).digest()


def p2pkh(key_hash: bytes) -> bytes:
    return b"\x76\xa9\x14" + key_hash + b"\x88\xac"


def p2sh(redeem_script: bytes) -> bytes:
    return b"\xa9\x14" + hash160(redeem_script) + b"\x87"


def p2wpkh(key_hash: bytes) -> bytes:
    return b"\x00\x14" + key_hash


def p2wsh(witness_script: bytes) -> bytes:
    return b"\x00\x20" + hashlib.sha256(witness_script).digest()


def p2tr(compressed: bytes) -> bytes:
    """To the key tweaked as BIP-341 says for an empty script tree."""
    import coincurve

    x_only = compressed[1:]
    tweaked = coincurve.PublicKey(b"\x02" + x_only).add(tagged_hash("TapTweak", x_only))
    return b"\x51\x20" + tweaked.format()[1:]


def kind_of(script: bytes) -> str:
    """One of the five kinds, or "" for any other script."""
    if script == p2pkh(script[3:23]):
        return P2PKH
    if len(script) == 23 and script.startswith(b"\xa9\x14") and script.endswith(b"\x87"):
        return P2SH
    return {(0, 20): P2WPKH, (0, 32): P2WSH, (1, 32): P2TR}.get(_witness_shape(script), "")


def address_of(script: bytes, network: Network) -> str:
    """The address that pays to this script; "" where there is none."""
    match kind_of(script):
        case "P2PKH":
            return base58check(network.p2pkh + script[3:23])
        case "P2SH":
            return base58check(network.p2sh + script[2:22])
    version, size = _witness_shape(script)
    # Version 0 with another length than the two is unspendable, and has no address (BIP-173).
    return _segwit_address(network.bech32, version, script[2:]) if version or size in (20, 32) else ""


def operations(script: bytes) -> Iterator[int]:
    """The opcodes in turn, without the data that they push; ends where the script breaks off."""
    at = 0
    while at < len(script):
        opcode = script[at]
        yield opcode
        at += 1
        if opcode <= 75:
            at += opcode
        elif opcode <= 78:
            width = 1 << opcode - 76
            at += width + int.from_bytes(script[at : at + width], "little")


def _witness_shape(script: bytes) -> tuple[int, int]:
    """Version and program length of a witness program (BIP-141); (0, 0) for any other script."""
    if not 4 <= len(script) <= 42 or script[1] != len(script) - 2:
        return 0, 0
    if script[0] == 0:
        return 0, script[1]
    return (script[0] - 0x50, script[1]) if 0x51 <= script[0] <= 0x60 else (0, 0)


_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def _segwit_address(prefix: str, version: int, program: bytes) -> str:
    """BIP-173 for version 0, BIP-350 for those after it."""
    bits = int.from_bytes(program) << -len(program) * 8 % 5
    digits = [version, *((bits >> 5 * at) & 31 for at in reversed(range((len(program) * 8 + 4) // 5)))]
    expanded = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    checksum = _polymod([*expanded, *digits, 0, 0, 0, 0, 0, 0]) ^ (0x2BC830A3 if version else 1)
    digits += [(checksum >> 5 * at) & 31 for at in reversed(range(6))]
    return prefix + "1" + "".join(_BECH32[digit] for digit in digits)


def _polymod(digits: Sequence[int]) -> int:
    checksum = 1
    for digit in digits:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ digit
        for bit, term in enumerate(_GENERATOR):
            checksum ^= term if top >> bit & 1 else 0
    return checksum
