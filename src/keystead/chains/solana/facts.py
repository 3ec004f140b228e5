"""What policies read of Solana's transactions (`solana.tx`).

Not here: where the values come from (`transaction`, `token_program`, `interfaces`).
"""

from __future__ import annotations

from typing import TypedDict

from keystead.chains.facts import Argument, Hex, TextMovement
from keystead.primitives.unreadable import Unreadable

AccountKey = str | Unreadable
"""The key of an account in base 58. That of an account from an address lookup table is on the chain."""


class InstructionAccount(TypedDict):
    account_key: AccountKey
    signer: bool
    writable: bool


class AddressTableLookup(TypedDict):
    address_table_key: str
    writable_indexes: list[int]
    readonly_indexes: list[int]


class ParsedInstruction(TypedDict):
    """An instruction by the uploaded IDL of its program. The documentation spells the named accounts both ways."""

    instruction_name: str
    discriminator: Hex
    named_account: dict[str, AccountKey]
    named_accounts: dict[str, AccountKey]
    program_call_args: dict[str, Argument]


class InstructionFacts(TypedDict):
    program_key: str
    accounts: list[InstructionAccount]
    instruction_data_hex: Hex
    address_table_lookups: list[AddressTableLookup]
    parsed_instruction_data: ParsedInstruction | Unreadable


Transfer = TypedDict("Transfer", {"from": AccountKey, "to": AccountKey, "amount": int | Unreadable})
"""A transfer of lamports by a program that comes with the network, or by a token program."""

SplTransfer = TypedDict(
    "SplTransfer",
    {
        "from": AccountKey,
        "to": AccountKey,
        "owner": AccountKey,
        "token_mint": AccountKey,
        "amount": int,
        "signers": list[AccountKey],
    },
)
"""A transfer of a token program, between token accounts. `amount`: in the smallest units of the token."""


class ConfigFacts(TypedDict):
    """What a transaction of version 1 asks of the network. Transactions of the other versions, and of limits that
    it does not set, have no value here."""

    priority_fee_lamports: int | Unreadable
    compute_unit_limit: int | Unreadable
    loaded_accounts_data_size_limit: int | Unreadable
    heap_size: int | Unreadable


class SolanaTransaction(ConfigFacts):
    version: str
    account_keys: list[AccountKey]
    program_keys: list[str]
    recent_blockhash: str
    instructions: list[InstructionFacts]
    transfers: list[Transfer] | Unreadable
    spl_transfers: list[SplTransfer] | Unreadable
    address_table_lookups: list[AddressTableLookup]
    fee: int
    movements: list[TextMovement]
