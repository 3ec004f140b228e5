"""Solana transactions: the whole wire form, legacy or version 0, signed over the message bytes as received.

Here: what policies see of a transaction, the signer's slot. Not here: the wire form (`message`), the token programs
(`token_program`), instruction data by an IDL (`interfaces`); instructions that programs run inside others, which a
transaction does not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from keystead.api.enums import Curve
from keystead.chains.contract_interfaces import ParsedInterface
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.solana.borsh import ValueMeter
from keystead.chains.solana.interfaces import ProgramIdl
from keystead.chains.solana.message import LOOKED_UP, SIGNATURE_BYTES, Instruction, SolanaMessage, read_message
from keystead.chains.solana.token_program import expand_batch, token_transfer
from keystead.chains.transaction import (
    Description,
    Party,
    TransactionView,
    UnsignedTransaction,
    require_curve,
    unparsable,
)

_SYSTEM_PROGRAM: Final = "11111111111111111111111111111111"
_SYSTEM_TRANSFER: Final = b"\x02\0\0\0"


def parse_solana(unsigned: bytes, party: Party) -> UnsignedTransaction:
    """Read a transaction: compact array of 64-byte signatures, empty or present, then the message.

    Raises InvalidRequest if it is not well-formed, has a program in a lookup table, does not ask the party to sign,
    or has an instruction of the token programs whose transfer policies could not see.
    """
    require_curve(party, Curve.ED25519, "Solana")
    message = read_message(unsigned)
    if party.compressed not in message.keys[: message.signers]:
        raise unparsable(f"{party.address or party.compressed.hex()} is not among its required signers")
    slot = 1 + SIGNATURE_BYTES * message.keys.index(party.compressed)
    view = _view(message)

    def assemble(signatures: Sequence[Signature]) -> bytes:
        (signature,) = signatures
        return unsigned[:slot] + signature.r + signature.s + unsigned[slot + SIGNATURE_BYTES :]

    return UnsignedTransaction(
        scheme=SignatureScheme.ED25519,
        messages=(message.signed,),
        contracts=view.contracts,
        describe=view.describe,
        assemble=assemble,
    )


def view_solana(unsigned: bytes) -> TransactionView:
    """What an unsigned transaction says. Raises InvalidRequest as `parse_solana` does."""
    return _view(read_message(unsigned))


def _view(message: SolanaMessage) -> TransactionView:
    instructions = [inner for outer in message.instructions for inner in expand_batch(outer)]
    programs = tuple(dict.fromkeys(instruction.program for instruction in instructions))
    transfers = [_transfer(instruction) for instruction in instructions if _is_transfer(instruction)]
    spl_transfers = [
        transfer for instruction in instructions if (transfer := token_transfer(instruction)) is not None
    ]
    keys = [account.key for account in message.accounts if account.key != LOOKED_UP]

    def describe(interfaces: Mapping[str, ParsedInterface]) -> Description:
        meter = ValueMeter()
        idls = {program: idl for program, idl in interfaces.items() if isinstance(idl, ProgramIdl)}
        calls = [
            idls[instruction.program].parse_instruction(instruction.data, instruction.keys(), meter)
            if instruction.program in idls
            else {}
            for instruction in instructions
        ]
        tx = {
            "account_keys": keys,
            "program_keys": [key for key in keys if key in programs],
            "recent_blockhash": message.recent_blockhash,
            "instructions": [
                _instruction_keywords(instruction, call)
                for instruction, call in zip(instructions, calls, strict=True)
            ],
            "transfers": transfers,
            "spl_transfers": spl_transfers,
            "address_table_lookups": [
                _lookup_keywords(table.key, table.writable, table.readonly) for table in message.tables
            ],
        }
        unreadable = None
        if None in calls:
            unreadable = f"instruction {calls.index(None)} does not fit the uploaded interface of its program"
        return Description({"solana": {"tx": tx}}, unreadable)

    return TransactionView(contracts=programs, describe=describe)


def _is_transfer(instruction: Instruction) -> bool:
    return instruction.program == _SYSTEM_PROGRAM and instruction.data[:4] == _SYSTEM_TRANSFER


def _transfer(instruction: Instruction) -> dict[str, Any]:
    """The System Program's Transfer: from, to. The program ignores further accounts."""
    keys = instruction.keys()
    if len(instruction.data) < 12 or len(keys) < 2:
        raise unparsable("a transfer of the System Program needs an amount of 8 bytes and two accounts")
    return {"from": keys[0], "to": keys[1], "amount": int.from_bytes(instruction.data[4:12], "little")}


def _instruction_keywords(instruction: Instruction, call: Mapping[str, Any] | None) -> dict[str, Any]:
    """The keywords of one instruction. `call`: its `parsed_instruction_data`, if it could be parsed."""
    looked_up = [(account.table, account.writable) for account in instruction.accounts if account.table is not None]
    keywords: dict[str, Any] = {
        "program_key": instruction.program,
        "accounts": [
            {"account_key": account.key, "signer": account.signer, "writable": account.writable}
            for account in instruction.accounts
        ],
        "instruction_data_hex": instruction.data.hex(),
        "address_table_lookups": [
            _lookup_keywords(
                key,
                [at for (table, at), writable in looked_up if table == key and writable],
                [at for (table, at), writable in looked_up if table == key and not writable],
            )
            for key in dict.fromkeys(table for (table, _), _ in looked_up)
        ],
    }
    if call:
        keywords["parsed_instruction_data"] = call
    return keywords


def _lookup_keywords(key: str, writable: Sequence[int], readonly: Sequence[int]) -> dict[str, Any]:
    return {"address_table_key": key, "writable_indexes": list(writable), "readonly_indexes": list(readonly)}
