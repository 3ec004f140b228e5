"""Addresses of Bitcoin, on four networks and of five kinds; and of Dogecoin and XRP, which use the same forms.

Pure. Not here: scripts of transactions (`chains`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from keystead.api.enums import AddressFormat
from keystead.chains.addresses import text
from keystead.chains.curves import PublicKey
from keystead.chains.taproot import taproot_public_key
from keystead.primitives.ripemd160 import ripemd160

_PUSH_33 = b"\x21"
_CHECKSIG = b"\xac"


class ScriptKind(StrEnum):
    """The kinds of output scripts that addresses pay to: the last words of the address formats."""

    P2PKH = "P2PKH"
    P2SH = "P2SH"
    P2WPKH = "P2WPKH"
    P2WSH = "P2WSH"
    P2TR = "P2TR"


class AddressPrefixes(msgspec.Struct, frozen=True):
    """The prefixes of a network's addresses: version bytes of base 58, prefix of bech32."""

    p2pkh: bytes
    p2sh: bytes
    prefix: str


NETWORKS: Final[Mapping[str, AddressPrefixes]] = {
    "MAINNET": AddressPrefixes(b"\x00", b"\x05", "bc"),
    "TESTNET": AddressPrefixes(b"\x6f", b"\xc4", "tb"),
    "SIGNET": AddressPrefixes(b"\x6f", b"\xc4", "tb"),
    "REGTEST": AddressPrefixes(b"\x6f", b"\xc4", "bcrt"),
}


def network_of(address: str) -> AddressPrefixes:
    """The network of this address; the main network for any other text. Test networks share prefixes, so the first
    of them is returned."""
    witness = text.decode_segwit(address)
    payload = text.decode_base58check(address, 21) or b""
    for network in NETWORKS.values():
        if witness[0] == network.prefix if witness else payload[:1] in (network.p2pkh, network.p2sh):
            return network
    return NETWORKS["MAINNET"]


def hash160(data: bytes) -> bytes:
    """RIPEMD-160 of SHA-256, 20 bytes."""
    return ripemd160(hashlib.sha256(data).digest())


def single_key_script(compressed: bytes) -> bytes:
    """The script of a P2SH or P2WSH address of one key: it pushes the key and checks its signature.

    The public API does not document the script (docs/divergences.md).
    """
    return _PUSH_33 + compressed + _CHECKSIG


def p2pkh(key: PublicKey, network: AddressPrefixes) -> str:
    return text.base58check(network.p2pkh + hash160(key.compressed))


def p2sh(key: PublicKey, network: AddressPrefixes) -> str:
    return text.base58check(network.p2sh + hash160(single_key_script(key.compressed)))


def p2wpkh(key: PublicKey, network: AddressPrefixes) -> str:
    return text.segwit(network.prefix, 0, hash160(key.compressed))


def p2wsh(key: PublicKey, network: AddressPrefixes) -> str:
    return text.segwit(network.prefix, 0, hashlib.sha256(single_key_script(key.compressed)).digest())


def p2tr(key: PublicKey, network: AddressPrefixes) -> str:
    """Pays to the key with the tweak of BIP-341 for an output without scripts."""
    return text.segwit(network.prefix, 1, taproot_public_key(key.compressed[1:])[1:])


_KINDS: Mapping[ScriptKind, Callable[[PublicKey, AddressPrefixes], str]] = {
    ScriptKind.P2PKH: p2pkh,
    ScriptKind.P2SH: p2sh,
    ScriptKind.P2WPKH: p2wpkh,
    ScriptKind.P2WSH: p2wsh,
    ScriptKind.P2TR: p2tr,
}


def encoders() -> dict[AddressFormat, Callable[[PublicKey], str]]:
    """The encoder of each address format, for every network and kind."""

    def encoder(
        encode: Callable[[PublicKey, AddressPrefixes], str], network: AddressPrefixes
    ) -> Callable[[PublicKey], str]:
        return lambda key: encode(key, network)

    return {
        AddressFormat(f"ADDRESS_FORMAT_BITCOIN_{network_name}_{kind}"): encoder(encode, network)
        for network_name, network in NETWORKS.items()
        for kind, encode in _KINDS.items()
    }


def doge_mainnet(key: PublicKey) -> str:
    return text.base58check(b"\x1e" + hash160(key.compressed))


def doge_testnet(key: PublicKey) -> str:
    return text.base58check(b"\x71" + hash160(key.compressed))


def xrp(key: PublicKey) -> str:
    return text.base58check(b"\x00" + hash160(key.compressed), text.RIPPLE_ALPHABET)
