"""Assets by their CAIP-19 names: the coin of a chain, and tokens.

Here: reading a name strictly, and one spelling for names and movements. Not here: movements (`movements`), how
much of several assets a signature moves (`outflow`).

Sources: CAIP-2, CAIP-19, SLIP-44.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from keystead.chains.addresses.text import decode_base58, decode_base58check
from keystead.chains.movements import NATIVE

EVM, SOLANA, TRON, BITCOIN = "eip155", "solana", "tron", "bip122"

FORMS: Final = (
    "eip155:N/slip44:60",
    "eip155:N/erc20:0x…",
    "solana:…/slip44:501",
    "solana:…/token:MINT",
    "bip122:000000000019d6689c085ae165831e93/slip44:0",
    "tron:0x2b6653dc/slip44:195",
    "tron:0x2b6653dc/trc20:T…",
)
"""The names that are read."""

_NAME: Final = re.compile(r"([a-z0-9]{3,8}):([-_a-zA-Z0-9]{1,32})/([a-z0-9]{3,8}):([-.%a-zA-Z0-9]{1,128})\Z")
_EVM_CHAIN: Final = re.compile(r"[1-9][0-9]{0,31}\Z")
_EVM_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}\Z")
_KEY_BYTES: Final = 32
_TRON_BYTES: Final = 21
_WRAPPED_SOL: Final = frozenset(
    {"So11111111111111111111111111111111111111112", "9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP"}
)
"""The mints of wrapped lamports (`solana.token_program.NATIVE_MINTS`)."""


class Asset(msgspec.Struct, frozen=True):
    """`namespace`, `reference`: the chain as CAIP-2 names it, for example eip155 and 1. `address`: NATIVE, or the
    address of its contract or mint, in the spelling of movements."""

    namespace: str
    reference: str
    address: str


def _evm(kind: str, text: str) -> str | None:
    if (kind, text) == ("slip44", "60"):
        return NATIVE
    return text.lower() if kind == "erc20" and _EVM_ADDRESS.match(text) else None


def _solana(kind: str, text: str) -> str | None:
    if (kind, text) == ("slip44", "501"):
        return NATIVE
    mint = decode_base58(text, _KEY_BYTES) if kind == "token" else None
    return None if mint is None or len(mint) != _KEY_BYTES else own_spelling(SOLANA, text)


def _tron(kind: str, text: str) -> str | None:
    if (kind, text) == ("slip44", "195"):
        return NATIVE
    address = decode_base58check(text, _TRON_BYTES) if kind == "trc20" else None
    return text if address is not None and len(address) == _TRON_BYTES and address[0] == 0x41 else None


def _bitcoin(kind: str, text: str) -> str | None:
    return NATIVE if (kind, text) == ("slip44", "0") else None


_CHAINS: Final[Mapping[str, tuple[Callable[[str], bool], Callable[[str, str], str | None]]]] = {
    EVM: (lambda reference: bool(_EVM_CHAIN.match(reference)), _evm),
    SOLANA: (lambda _: True, _solana),
    TRON: (lambda reference: reference == "0x2b6653dc", _tron),
    BITCOIN: (lambda reference: reference == "000000000019d6689c085ae165831e93", _bitcoin),
}
"""By namespace: whether a reference is one of its chains, and the token of an asset's kind and text."""


def asset_named(name: str) -> Asset:
    """The asset of a CAIP-19 name. Raises ValueError for a name of another form; its text says which forms there
    are."""
    match = _NAME.match(name)
    if match is not None and match[1] in _CHAINS:
        is_chain, token_of = _CHAINS[match[1]]
        token = token_of(match[3], match[4])
        if is_chain(match[2]) and token is not None:
            return Asset(match[1], match[2], token)
    raise ValueError(f"expected an asset as CAIP-19 names it, of one of the forms {', '.join(FORMS)}")


def own_spelling(namespace: str, token: str) -> str:
    """The asset of a movement, as `Asset.address` spells it. `namespace`: of the chain. Wrapped SOL is the coin."""
    if namespace == EVM:
        return token if token == NATIVE else token.lower()
    return NATIVE if namespace == SOLANA and token in _WRAPPED_SOL else token
