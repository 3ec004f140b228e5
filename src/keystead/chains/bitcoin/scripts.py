"""Bitcoin's output scripts: the kinds, the key that each pays to, its address on a network.

Here: P2PKH, P2SH, P2WPKH, P2WSH, P2TR (BIP-16, 141, 341), and their parts. Not here: running scripts; how
addresses are written (`chains.addresses`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Final

from keystead.api.enums import AddressFormat
from keystead.chains.addresses.bitcoin import NETWORKS, AddressPrefixes, ScriptKind, hash160
from keystead.chains.addresses.text import base58check, segwit
from keystead.chains.taproot import taproot_public_key

OP_CODESEPARATOR: Final = 0xAB

_KIND_OF_WITNESS: Final[Mapping[tuple[int, int], ScriptKind]] = {
    (0, 20): ScriptKind.P2WPKH,
    (0, 32): ScriptKind.P2WSH,
    (1, 32): ScriptKind.P2TR,
}
"""The kinds of witness programs by version and length."""


def network_and_kind(address_format: AddressFormat | None) -> tuple[AddressPrefixes, ScriptKind] | None:
    """The network and kind of ADDRESS_FORMAT_BITCOIN_<network>_<kind>; None for a format of another chain."""
    chain, _, named = (address_format or "").removeprefix("ADDRESS_FORMAT_").partition("_")
    network, _, kind = named.partition("_")
    return (NETWORKS[network], ScriptKind(kind)) if chain == "BITCOIN" else None


def p2pkh(key_hash: bytes) -> bytes:
    return b"\x76\xa9\x14" + key_hash + b"\x88\xac"


def p2sh(redeem_script: bytes) -> bytes:
    return b"\xa9\x14" + hash160(redeem_script) + b"\x87"


def p2wpkh(key_hash: bytes) -> bytes:
    return b"\x00\x14" + key_hash


def p2wsh(witness_script: bytes) -> bytes:
    return b"\x00\x20" + hashlib.sha256(witness_script).digest()


def p2tr(compressed: bytes) -> bytes:
    """Pays to the key with the tweak of BIP-341 for an empty script tree."""
    return b"\x51\x20" + taproot_public_key(compressed[1:])[1:]


def kind_of(script: bytes) -> ScriptKind | None:
    """The kind of this script; None for a script that is of no kind."""
    if script == p2pkh(script[3:23]):
        return ScriptKind.P2PKH
    if len(script) == 23 and script.startswith(b"\xa9\x14") and script.endswith(b"\x87"):
        return ScriptKind.P2SH
    return _KIND_OF_WITNESS.get(_witness_shape(script))


def address_of(script: bytes, network: AddressPrefixes) -> str:
    """The address that pays to this script; "" if there is no such address."""
    kind = kind_of(script)
    if kind is ScriptKind.P2PKH:
        return base58check(network.p2pkh + script[3:23])
    if kind is ScriptKind.P2SH:
        return base58check(network.p2sh + script[2:22])
    version, size = _witness_shape(script)
    # A program of version 0 with another length is unspendable, and has no address (BIP-173).
    return segwit(network.prefix, version, script[2:]) if version or size in (20, 32) else ""


def operations(script: bytes) -> Iterator[int]:
    """The opcodes in order, without the data that they push. It stops where the script is cut short."""
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


def is_witness_program(script: bytes) -> bool:
    """Whether the script is a witness program of any version (BIP-141)."""
    return _witness_shape(script) != (0, 0)


def _witness_shape(script: bytes) -> tuple[int, int]:
    """Version and program length of a witness program (BIP-141); (0, 0) for any other script."""
    if not 4 <= len(script) <= 42 or script[1] != len(script) - 2:
        return 0, 0
    if script[0] == 0:
        return 0, script[1]
    return (script[0] - 0x50, script[1]) if 0x51 <= script[0] <= 0x60 else (0, 0)
