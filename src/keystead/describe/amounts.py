"""Amounts with their units, and the networks that coins belong to.

The chain ids are those of the public registry of EIP-155 chain ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from keystead.primitives.unreadable import Unreadable


class Network(NamedTuple):
    name: str
    coin: str


NETWORKS: Final[Mapping[int, Network]] = {
    1: Network("Ethereum", "ETH"),
    10: Network("OP Mainnet", "ETH"),
    56: Network("BNB Smart Chain", "BNB"),
    100: Network("Gnosis", "xDAI"),
    137: Network("Polygon", "POL"),
    324: Network("ZKsync Era", "ETH"),
    1337: Network("a local chain", "ETH"),
    8453: Network("Base", "ETH"),
    17000: Network("Holesky, a test network", "ETH"),
    31337: Network("a local chain", "ETH"),
    42161: Network("Arbitrum One", "ETH"),
    43114: Network("Avalanche C-Chain", "AVAX"),
    59144: Network("Linea", "ETH"),
    84532: Network("Base Sepolia, a test network", "ETH"),
    421614: Network("Arbitrum Sepolia, a test network", "ETH"),
    534352: Network("Scroll", "ETH"),
    560048: Network("Hoodi, a test network", "ETH"),
    11155111: Network("Sepolia, a test network", "ETH"),
    11155420: Network("OP Sepolia, a test network", "ETH"),
}
"""Ethereum and compatible networks by chain id. The coins of all of them have 18 decimal places."""

WEI_PLACES: Final = 18
_WEI_SHOWN_BELOW: Final = 10**9
GWEI_PLACES: Final = 9
LAMPORT_PLACES: Final = 9
SATOSHI_PLACES: Final = 8
SUN_PLACES: Final = 6


def in_units(value: int, places: int, unit: str) -> str:
    """An exact amount: (1500000000, 9, "SOL") is "1.5 SOL"."""
    whole, fraction = divmod(abs(value), 10**places)
    digits = f"{fraction:0{places}}".rstrip("0") if fraction else ""
    return f"{'-' if value < 0 else ''}{whole}{'.' if digits else ''}{digits} {unit}"


def network_name(chain_id: int | None) -> str:
    if chain_id is None:
        return "every chain: the transaction names none"
    known = NETWORKS.get(chain_id)
    return f"{known.name} (chain {chain_id})" if known else f"chain {chain_id}"


def coin_amount(wei: int, chain_id: int | None) -> str:
    """An amount of the network's own coin: a small amount in wei, any other in coins of 10^18 wei."""
    if 0 < wei < _WEI_SHOWN_BELOW:
        return f"{wei} wei"
    known = NETWORKS.get(chain_id) if chain_id is not None else None
    return in_units(wei, WEI_PLACES, known.coin if known else "coins")


def unknown_or(value: Any) -> str:
    """A value as text; the reason of one that is not known."""
    return f"unknown: {value.reason}" if isinstance(value, Unreadable) else str(value)
