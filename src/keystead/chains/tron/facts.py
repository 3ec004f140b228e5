"""What policies read of Tron's transactions (`tron.tx`).

Not here: where the values come from (`transaction`).
"""

from __future__ import annotations

from typing import TypedDict

from keystead.chains.facts import Hex, TextMovement
from keystead.primitives.unreadable import Unreadable


class TronKey(TypedDict):
    address: str
    weight: int


class TronPermission(TypedDict):
    type: str
    id: int
    permission_name: str
    threshold: int
    parent_id: int
    operations: Hex
    keys: list[TronKey]


class ContractFields(TypedDict):
    """The fields that contracts of some types have. Amounts are in sun, the smallest unit."""

    to_address: str | Unreadable
    amount: int | Unreadable
    contract_address: str | Unreadable
    call_value: int | Unreadable
    data: Hex | Unreadable
    call_token_value: int | Unreadable
    token_id: int | Unreadable
    resource: str | Unreadable
    balance: int | Unreadable
    receiver_address: str | Unreadable
    lock: bool | Unreadable
    lock_period: int | Unreadable
    frozen_balance: int | Unreadable
    unfreeze_balance: int | Unreadable
    owner: TronPermission | Unreadable
    witness: TronPermission | Unreadable
    actives: list[TronPermission] | Unreadable


class TronContract(ContractFields):
    type: str
    permission_id: int
    owner_address: str


class TronTransaction(TypedDict):
    """`expiration`, `timestamp`: milliseconds. `fee_limit`: sun."""

    ref_block_bytes: Hex
    ref_block_hash: Hex
    data: Hex
    expiration: int
    timestamp: int
    fee_limit: int
    contract: list[TronContract]
    movements: list[TextMovement]
