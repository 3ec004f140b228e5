"""What policies read of Bitcoin's transactions (`bitcoin.tx`).

Not here: where the values come from (`transaction`).
"""

from __future__ import annotations

from typing import TypedDict

from keystead.chains.facts import AddressMovement, AddressText, Hex
from keystead.primitives.unreadable import Unreadable


class BitcoinInput(TypedDict):
    tx_id: Hex
    vout: int
    sequence: int


class BitcoinOutput(TypedDict):
    """`value`: satoshis. Not every script has an address."""

    value: int
    script_pubkey: Hex
    address: AddressText | Unreadable
    address_type: str | Unreadable


class BitcoinLocktime(TypedDict):
    """`type`: Blocks or Seconds."""

    amount: int
    type: str


class BitcoinTransaction(TypedDict):
    """`fee`: satoshis."""

    version: str
    inputs: list[BitcoinInput]
    outputs: list[BitcoinOutput]
    locktime: BitcoinLocktime
    fee: int | Unreadable
    movements: list[AddressMovement]
