"""What policies read of Ethereum: transactions (`eth.tx`), typed data (`eth.eip_712`), authorizations
(`eth.eip_7702_authorization`); and of Tempo (`tempo.tx`).

Not here: where the values come from (`transaction`, `tempo`, `chains.payloads`).
"""

from __future__ import annotations

from typing import Final, TypedDict

from keystead.chains.facts import Argument, Hex, HexMovement, Numeral
from keystead.primitives.unreadable import Unreadable

CREATES_A_CONTRACT: Final = Unreadable("it creates a contract, and has no recipient", literal="")
"""The recipient of a transaction that creates a contract. The documentation writes it as ''."""


class ContractCall(TypedDict):
    """The function that calldata calls, by the uploaded interface of the contract."""

    function_name: str | Unreadable
    function_signature: Hex | Unreadable
    contract_call_args: dict[str, Argument] | Unreadable


class AuthorizationFacts(TypedDict):
    """An authorization of EIP-7702. Chain 0 stands for every chain."""

    address: Hex
    chain_id: Numeral | Unreadable
    nonce: Numeral


EthereumTransaction = TypedDict(
    "EthereumTransaction",
    {
        "from": Hex,
        "to": Hex | Unreadable,
        "data": Hex,
        "value": int,
        "gas": int,
        "gas_price": int,
        "chain_id": int | Unreadable,
        "nonce": int,
        "max_fee_per_gas": int | Unreadable,
        "max_priority_fee_per_gas": int | Unreadable,
        "max_fee_per_blob_gas": int | Unreadable,
        "type": str,
        "function_name": str | Unreadable,
        "function_signature": Hex | Unreadable,
        "contract_call_args": dict[str, Argument] | Unreadable,
        "authorization_list": list[AuthorizationFacts],
        "fee": int,
        "movements": list[HexMovement],
    },
)
"""`gas_price` is `max_fee_per_gas` in a transaction that has no gas price. `fee`: the most that the gas costs, in
wei."""


class TypedDataDomain(TypedDict):
    """Domains may leave out any member."""

    name: str | Unreadable
    version: str | Unreadable
    verifying_contract: Hex | Unreadable
    chain_id: int | Unreadable


class TypedDataFacts(TypedDict):
    """Typed data of EIP-712. `message`: the members that its types declare."""

    primary_type: str
    domain: TypedDataDomain
    message: dict[str, Argument]
    movements: list[HexMovement]


class TempoCall(TypedDict):
    """One call. The documentation writes the recipient of a creation, and the selector of a short input, as ''."""

    to: Hex | Unreadable
    input: Hex
    function_signature: Hex | Unreadable


TempoTransaction = TypedDict(
    "TempoTransaction",
    {
        "chain_id": int,
        "nonce": int,
        "gas_limit": int,
        "max_fee_per_gas": int,
        "max_priority_fee_per_gas": int,
        "valid_before": int | Unreadable,
        "valid_after": int | Unreadable,
        "from": Hex,
        "fee_token": Hex | Unreadable,
        "calls": list[TempoCall],
        "fee": int,
        "movements": list[HexMovement],
    },
)
"""`valid_before` and `valid_after`: seconds. The documentation writes one that is not set as 0. `fee`: the most
that the gas costs, in the smallest unit of the fee token."""
