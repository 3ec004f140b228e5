"""Which texts name the same destination. Policies compare destinations, not the texts of addresses.

Here: a Bitcoin address is the script that it pays to, so that it equals the address of that script on another
network; a TON address is its account; hex and bech32 are the same in either case. Not here: other destinations of
the same key, which differ.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from keystead.chains.addresses.bitcoin import NETWORKS
from keystead.chains.addresses.stored_forms import ton_account
from keystead.chains.addresses.text import decode_base58check, decode_segwit
from keystead.chains.bounds import ADDRESS_CHARACTERS_MAX

_HASH_BYTES: Final = 20

_HEX: Final = re.compile(r"0[xX][0-9a-fA-F]*|[0-9a-fA-F]{64}|[0-9a-fA-F]{66}|[0-9a-fA-F]{130}")
"""Hex with 0x, and public keys, which are written without it."""
_BECH32: Final = re.compile(r"(?:cosmos|sei|spark|sparkrt)1[02-9ac-hj-np-z]+", re.IGNORECASE)

_PUBLIC_KEY_HASH_VERSIONS: Final = frozenset(network.p2pkh for network in NETWORKS.values())
_SCRIPT_HASH_VERSIONS: Final = frozenset(network.p2sh for network in NETWORKS.values())
_SEGWIT_PREFIXES: Final = frozenset(network.prefix for network in NETWORKS.values())


def address_key(text: str) -> str:
    """A value that is equal for two texts if and only if they name the same destination.

    Text that is not an address of a known form stands for itself.
    """
    return _short_key(text) if len(text) <= ADDRESS_CHARACTERS_MAX else _long_key(text)


def _long_key(text: str) -> str:
    return text.lower() if _HEX.fullmatch(text) else text


@functools.lru_cache(maxsize=8_192)
def _short_key(text: str) -> str:
    if _HEX.fullmatch(text):
        return text.lower()
    return _bitcoin_script(text) or ton_account(text) or (text.lower() if _BECH32.fullmatch(text) else text)


def _bitcoin_script(text: str) -> str | None:
    """The script that a Bitcoin address of any network pays to; None for any other text."""
    witness = decode_segwit(text)
    if witness is not None:
        prefix, version, program = witness
        return f"bitcoin:witness:{version}:{program.hex()}" if prefix in _SEGWIT_PREFIXES else None
    payload = decode_base58check(text, 1 + _HASH_BYTES)
    if payload is None or len(payload) != 1 + _HASH_BYTES:
        return None
    if payload[:1] in _PUBLIC_KEY_HASH_VERSIONS:
        return f"bitcoin:public-key-hash:{payload[1:].hex()}"
    return f"bitcoin:script-hash:{payload[1:].hex()}" if payload[:1] in _SCRIPT_HASH_VERSIONS else None
