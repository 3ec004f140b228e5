"""Solana transactions of every version, signed over the message bytes as received.

Here: what policies see of a transaction, the signer's slot. Not here: the bytes (`wire`), the rules of a message
(`message`), the token programs (`token_program`), instruction data by an IDL (`interfaces`); instructions that
programs run inside others, which a transaction does not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from keystead.api.enums import Curve
from keystead.chains.contract_interfaces import ParsedInterface, RefusedInterface
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.solana.borsh import ValueMeter
from keystead.chains.solana.interfaces import ProgramIdl
from keystead.chains.solana.message import LOOKED_UP, Instruction, SolanaMessage, read_message
from keystead.chains.solana.token_program import expand_batch, token_transfer
from keystead.chains.solana.wire import SIGNATURE_BYTES, TransactionConfig
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
    """Read a whole transaction, with its signature slots, of 64 zero bytes or already signed.

    Raises InvalidRequest if it is not well-formed, has a program in a lookup table, does not ask the party to sign,
    or has an instruction of the token programs whose transfer policies could not see.
    """
    require_curve(party, Curve.ED25519, "Solana")
    message = read_message(unsigned)
    if party.compressed not in message.keys[: message.signers]:
        raise unparsable(f"{party.address or party.compressed.hex()} is not among its required signers")
    slot = message.slots_begin + SIGNATURE_BYTES * message.keys.index(party.compressed)
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
        calls = [_call(instruction, interfaces.get(instruction.program), meter) for instruction in instructions]
        tx = {
            "version": message.version.value,
            **_config_keywords(message.config),
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
        return Description({"solana": {"tx": tx}}, _unreadable(instructions, calls, interfaces))

    return TransactionView(contracts=programs, describe=describe)


def _call(
    instruction: Instruction, interface: ParsedInterface | None, meter: ValueMeter
) -> Mapping[str, Any] | None:
    """The `parsed_instruction_data` of an instruction: empty without an interface of its program; None if the
    interface does not decode it."""
    if isinstance(interface, RefusedInterface):
        return None
    if isinstance(interface, ProgramIdl):
        return interface.parse_instruction(instruction.data, instruction.keys(), meter)
    return {}


def _unreadable(
    instructions: Sequence[Instruction],
    calls: Sequence[Mapping[str, Any] | None],
    interfaces: Mapping[str, ParsedInterface],
) -> str | None:
    """Why the first call that does not decode does not; None if all were read."""
    if None not in calls:
        return None
    number = calls.index(None)
    interface = interfaces[instructions[number].program]
    if isinstance(interface, RefusedInterface):
        return f"instruction {number}: the interface of its program on record is not understood: {interface.why}"
    return f"instruction {number} does not fit the uploaded interface of its program"


def _config_keywords(config: TransactionConfig | None) -> dict[str, int]:
    """The keywords of the config of version 1. A limit that it does not set is absent; so are all of them before
    version 1."""
    if config is None:
        return {}
    limits = {
        "compute_unit_limit": config.compute_unit_limit,
        "loaded_accounts_data_size_limit": config.loaded_accounts_data_size_limit,
        "heap_size": config.heap_size,
    }
    set_limits = {name: limit for name, limit in limits.items() if limit is not None}
    return {"priority_fee_lamports": config.priority_fee_lamports or 0, **set_limits}


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
